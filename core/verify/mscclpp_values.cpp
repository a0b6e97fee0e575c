// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_values.hpp"

#include <algorithm>

namespace coppice::verify {

namespace {

std::uint64_t hashOfTerms(const MscclppValues::Terms& terms) {
  std::uint64_t hash = terms.size();
  for (const auto& [term, count] : terms) {
    hash = (hash ^ static_cast<std::uint64_t>(term) ^ (static_cast<std::uint64_t>(count) << 48)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

int MscclppValues::single(std::int64_t term) {
  const auto [found, isNew] = m_singles.try_emplace(term, kUndefined);
  if (isNew) {
    found->second = numberOf({{term, 1}});
  }
  return found->second;
}

int MscclppValues::add(int a, int b) {
  if (a == kUndefined || b == kUndefined) {
    return kUndefined;
  }
  const auto [low, high] = std::minmax(a, b);
  const auto [known, isNew] =
      m_sums.try_emplace((static_cast<std::uint64_t>(low) << 32) | static_cast<std::uint64_t>(high), 0);
  if (!isNew) {
    return known->second;
  }
  Terms sum;
  const Terms& left = m_terms[low];
  const Terms& right = m_terms[high];
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() || j < right.size()) {
    if (j == right.size() || (i < left.size() && left[i].first < right[j].first)) {
      sum.push_back(left[i++]);
    } else if (i == left.size() || right[j].first < left[i].first) {
      sum.push_back(right[j++]);
    } else {
      sum.emplace_back(left[i].first, left[i].second + right[j].second);
      ++i;
      ++j;
    }
  }
  const int number = numberOf(std::move(sum));
  known->second = number;
  return number;
}

int MscclppValues::numberOf(Terms terms) {
  const std::uint64_t hash = hashOfTerms(terms);
  const auto [first, last] = m_numbers.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return m_terms[entry.second] == terms; });
  if (found != last) {
    return found->second;
  }
  const auto number = static_cast<int>(m_terms.size());
  m_terms.push_back(std::move(terms));
  m_numbers.emplace(hash, number);
  return number;
}

int MscclppValues::sumOfInputs(int launch, int ranks, std::int64_t cell) {
  const auto [known, isNew] = m_inputSums.try_emplace(termOf(launch, 0, cell), kUndefined);
  if (isNew) {
    Terms terms;
    for (int rank = 0; rank < ranks; ++rank) {
      terms.emplace_back(termOf(launch, rank, cell), 1);
    }
    known->second = numberOf(std::move(terms));
  }
  return known->second;
}

}  // namespace coppice::verify
