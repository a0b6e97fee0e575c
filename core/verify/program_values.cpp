// SPDX-License-Identifier: Apache-2.0
#include "verify/program_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace coppice::verify {
namespace {

constexpr std::size_t kMaxSetWords = std::size_t{1} << 27;  // 1 GiB
constexpr std::size_t kMaxMemo = std::size_t{1} << 22;      // a cache: emptied when full
constexpr std::size_t kMaxFlaws = std::size_t{1} << 20;     // later ones share the last one's description

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15U;
  value ^= value >> 29;
  return value;
}

}  // namespace

RankSets::RankSets(int ranks)
    : m_ranks(static_cast<std::uint32_t>(ranks)),
      m_width((static_cast<std::size_t>(ranks) + 63) / 64),
      m_scratch(m_width),
      m_ids(1024),
      m_memo(1024) {
  for (int rank = 0; rank < ranks; ++rank) {
    std::fill(m_scratch.begin(), m_scratch.end(), 0);
    m_scratch[static_cast<std::size_t>(rank) / 64] = std::uint64_t{1} << (rank % 64);
    intern();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    m_scratch[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
  }
  intern();
}

std::uint32_t RankSets::intern() {
  if ((m_count + 1) * 2 > m_ids.size()) {
    growIds();
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t word : m_scratch) {
    hash = mix(hash + word);
  }
  const std::size_t mask = m_ids.size() - 1;
  std::size_t slot = hash & mask;
  for (; m_ids[slot] != 0; slot = (slot + 1) & mask) {
    if (std::memcmp(words(m_ids[slot] - 1), m_scratch.data(), m_width * sizeof(std::uint64_t)) == 0) {
      return m_ids[slot] - 1;
    }
  }
  if (m_words.size() + m_width > kMaxSetWords) {
    throw MemoryLimitError{};
  }
  m_words.insert(m_words.end(), m_scratch.begin(), m_scratch.end());
  m_ids[slot] = ++m_count;
  return m_count - 1;
}

void RankSets::growIds() {
  const std::vector<std::uint32_t> old = std::exchange(m_ids, std::vector<std::uint32_t>(m_ids.size() * 2));
  const std::size_t mask = m_ids.size() - 1;
  for (const std::uint32_t entry : old) {
    if (entry == 0) {
      continue;
    }
    std::uint64_t hash = 0;
    for (std::size_t word = 0; word < m_width; ++word) {
      hash = mix(hash + words(entry - 1)[word]);
    }
    std::size_t slot = hash & mask;
    while (m_ids[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    m_ids[slot] = entry;
  }
}

void RankSets::growMemo() {
  const std::vector<Memo> old = std::exchange(m_memo, std::vector<Memo>(m_memo.size() * 2));
  const std::size_t mask = m_memo.size() - 1;
  for (const Memo& entry : old) {
    if (entry.key != 0) {
      std::size_t slot = mix(entry.key) & mask;
      while (m_memo[slot].key != 0) {
        slot = (slot + 1) & mask;
      }
      m_memo[slot] = entry;
    }
  }
}

std::uint32_t RankSets::disjointUnion(std::uint32_t left, std::uint32_t right) {
  if (left > right) {
    std::swap(left, right);
  }
  const std::uint64_t key = (std::uint64_t{left} << 32 | right) + 1;
  const std::size_t mask = m_memo.size() - 1;
  std::size_t slot = mix(key) & mask;
  for (; m_memo[slot].key != 0; slot = (slot + 1) & mask) {
    if (m_memo[slot].key == key) {
      return m_memo[slot].result;
    }
  }
  std::uint64_t common = 0;
  for (std::size_t word = 0; word < m_width; ++word) {
    common |= words(left)[word] & words(right)[word];
    m_scratch[word] = words(left)[word] | words(right)[word];
  }
  const std::uint32_t result = common != 0 ? kOverlap : intern();
  m_memo[slot] = {.key = key, .result = result};
  if (++m_memoCount > kMaxMemo) {
    std::fill(m_memo.begin(), m_memo.end(), Memo{});
    m_memoCount = 0;
  } else if (m_memoCount * 2 > m_memo.size()) {
    growMemo();
  }
  return result;
}

int RankSets::commonRank(std::uint32_t left, std::uint32_t right) const {
  for (std::size_t word = 0; word < m_width; ++word) {
    if (const std::uint64_t common = words(left)[word] & words(right)[word]; common != 0) {
      return static_cast<int>(word * 64) + std::countr_zero(common);
    }
  }
  return -1;
}

std::string RankSets::describe(std::uint32_t set) const {
  constexpr std::size_t kMaxNamed = 8;
  std::vector<int> in;
  std::vector<int> out;
  for (int rank = 0; rank < static_cast<int>(m_ranks); ++rank) {
    (contains(set, rank) ? in : out).push_back(rank);
  }
  if (out.empty() && in.size() > 1) {
    return "all ranks";
  }
  const bool short_ = in.size() <= kMaxNamed || in.size() <= out.size();
  const std::vector<int>& named = short_ ? in : out;
  std::string text = short_ ? (in.size() == 1 ? "rank " : "ranks ") : "all ranks but ";
  for (std::size_t index = 0; index < named.size() && index < kMaxNamed; ++index) {
    text += (index == 0 ? "" : ", ") + std::to_string(named[index]);
  }
  return text + (named.size() > kMaxNamed ? " and " + std::to_string(named.size() - kMaxNamed) + " more" : "");
}

Value Values::reduce(Value left, Value right, int block, std::uint32_t step) {
  if (isFlawed(left)) {
    return left;
  }
  if (isFlawed(right)) {
    return right;
  }
  if (chunkOf(left) != chunkOf(right)) {
    return addFlaw({.kind = FlawKind::mixed, .block = block, .step = step, .left = left, .right = right});
  }
  const std::uint32_t sum = m_sets.disjointUnion(setOf(left), setOf(right));
  if (sum == RankSets::kOverlap) {
    return addFlaw({.kind = FlawKind::doubled, .block = block, .step = step, .left = left, .right = right});
  }
  return makeValue(chunkOf(left), sum);
}

Value Values::unwrittenRead(int block, std::uint32_t step) {
  return addFlaw({.kind = FlawKind::unwritten, .block = block, .step = step, .left = 0, .right = 0});
}

Value Values::addFlaw(const Flaw& flaw) {
  // A step meets the chunks of a message one after the other: one entry tells about all.
  if (m_flaws.empty() ||
      ((m_flaws.back().step != flaw.step || m_flaws.back().kind != flaw.kind) && m_flaws.size() < kMaxFlaws)) {
    m_flaws.push_back(flaw);
  }
  return kFlawBit | (m_flaws.size() - 1);
}

Values::Origin Values::originOf(Value value) const {
  const Flaw& flaw = m_flaws[value & ~kFlawBit];
  Origin origin{flaw.block, flaw.step, {}};
  switch (flaw.kind) {
    case FlawKind::doubled:
      origin.act = "adds chunk " + std::to_string(chunkOf(flaw.left)) + " of rank " +
                   std::to_string(m_sets.commonRank(setOf(flaw.left), setOf(flaw.right))) + " a second time";
      break;
    case FlawKind::mixed:
      origin.act = "adds " + describe(flaw.right) + " to " + describe(flaw.left);
      break;
    case FlawKind::unwritten:
      origin.act = "reads where nothing was written before";
      break;
  }
  return origin;
}

std::string Values::describe(Value value) const {
  if (value == kUnwritten) {
    return "nothing (it is never written)";
  }
  if (isSound(value)) {
    const std::string chunk = "chunk " + std::to_string(chunkOf(value));
    return setOf(value) < static_cast<std::uint32_t>(m_sets.all()) || m_sets.all() == 0
               ? chunk + " of " + m_sets.describe(setOf(value))
               : "the sum of " + chunk + " over " + m_sets.describe(setOf(value));
  }
  const Flaw& flaw = m_flaws[value & ~kFlawBit];
  const std::string place = toText(stepElement(m_flat, flaw.block, flaw.step));
  switch (flaw.kind) {
    case FlawKind::doubled:
      return "a sum that counts chunk " + std::to_string(chunkOf(flaw.left)) + " of rank " +
             std::to_string(m_sets.commonRank(setOf(flaw.left), setOf(flaw.right))) + " twice (the second time at " +
             place + ")";
    case FlawKind::mixed:
      return "a mixture of " + describe(flaw.left) + " and " + describe(flaw.right) + " (made at " + place + ")";
    case FlawKind::unwritten:
      return "stale data (read at " + place + ", where nothing was written before)";
  }
  return {};
}

}  // namespace coppice::verify
