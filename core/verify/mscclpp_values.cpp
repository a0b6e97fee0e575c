// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_values.hpp"

#include <algorithm>

namespace coppice::verify {

int MscclppValues::single(std::int64_t term) {
  const auto [found, isNew] = m_singles.try_emplace(term, static_cast<int>(m_terms.size()));
  if (isNew) {
    m_terms.push_back({{term, 1}});
    m_numberOf.emplace(m_terms.back(), found->second);
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
  const auto [number, isNewSum] = m_numberOf.try_emplace(sum, static_cast<int>(m_terms.size()));
  if (isNewSum) {
    m_terms.push_back(std::move(sum));
  }
  known->second = number->second;
  return known->second;
}

}  // namespace coppice::verify
