// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/program_flat.hpp"

/// What a chunk holds, exactly: nothing, or the reduction of one chunk index over a set of ranks (a copy is the set of
/// one rank), or something that no further copy or reduction can make right again.
namespace coppice::verify {

/// 0 = never written. Otherwise, with the top bit clear, chunk index + 1 in the high and a rank set's id in the low 32
/// bits; with the top bit set, the low bits name the flaw. Equal contents have equal values.
using Value = std::uint64_t;
constexpr Value kUnwritten = 0;
constexpr Value kFlawBit = Value{1} << 63;
[[nodiscard]] constexpr bool isFlawed(Value value) {
  return (value & kFlawBit) != 0;
}
[[nodiscard]] constexpr bool isSound(Value value) {
  return value != kUnwritten && !isFlawed(value);
}
[[nodiscard]] constexpr std::uint32_t chunkOf(Value value) {
  return static_cast<std::uint32_t>(value >> 32) - 1;
}
[[nodiscard]] constexpr std::uint32_t setOf(Value value) {
  return static_cast<std::uint32_t>(value);
}
[[nodiscard]] constexpr Value makeValue(std::uint32_t chunk, std::uint32_t set) {
  return Value{chunk + 1} << 32 | set;
}

/// Thrown when a program would need more memory than the verifier grants; becomes ErrorCode::limit.
struct MemoryLimitError {};

/// Sets of ranks, each stored once. Set r < ranks is {r}; then comes the set of all.
class RankSets {
public:
  static constexpr std::uint32_t kOverlap = ~std::uint32_t{0};

  explicit RankSets(int ranks);
  [[nodiscard]] std::uint32_t all() const { return m_ranks == 1 ? 0 : m_ranks; }
  [[nodiscard]] bool contains(std::uint32_t set, int rank) const {
    return set < m_ranks ? set == static_cast<std::uint32_t>(rank) : (words(set)[rank / 64] >> (rank % 64) & 1U) != 0;
  }
  /// The union of two disjoint sets, or kOverlap.
  std::uint32_t disjointUnion(std::uint32_t left, std::uint32_t right);
  /// A rank in both. @pre they overlap
  [[nodiscard]] int commonRank(std::uint32_t left, std::uint32_t right) const;
  /// "rank 3", "ranks 0, 1, 5", "all ranks", "all ranks but 2".
  [[nodiscard]] std::string describe(std::uint32_t set) const;

private:
  struct Memo {
    std::uint64_t key = 0;  ///< the two ids, +1; 0 = empty
    std::uint32_t result = 0;
  };

  [[nodiscard]] const std::uint64_t* words(std::uint32_t set) const { return m_words.data() + set * m_width; }
  std::uint32_t intern();  ///< the set in m_scratch
  void growIds();
  void growMemo();

  std::uint32_t m_ranks;
  std::size_t m_width;
  std::uint32_t m_count = 0;
  std::vector<std::uint64_t> m_words;
  std::vector<std::uint64_t> m_scratch;
  std::vector<std::uint32_t> m_ids;  ///< open addressing, id + 1
  std::vector<Memo> m_memo;
  std::size_t m_memoCount = 0;
};

/// Computes with values and remembers, for each flaw, the first step that made it.
class Values {
public:
  Values(const FlatProgram& flat, int ranks) : m_flat(flat), m_sets(ranks) {}

  [[nodiscard]] RankSets& sets() { return m_sets; }
  [[nodiscard]] const RankSets& sets() const { return m_sets; }
  /// What a step of `block` leaves when it reduces two values.
  Value reduce(Value left, Value right, int block, std::uint32_t step);
  /// The mark for data read where nothing was written.
  Value unwrittenRead(int block, std::uint32_t step);
  struct Origin {
    int block = 0;
    std::uint32_t step = 0;
    std::string act;  ///< "adds chunk 3 of rank 1 a second time"
  };
  /// The step that made a flaw. @pre isFlawed(value)
  [[nodiscard]] Origin originOf(Value value) const;
  /// "the sum of chunk 3 over all ranks", "nothing", …
  [[nodiscard]] std::string describe(Value value) const;

private:
  enum class FlawKind { doubled, mixed, unwritten };
  struct Flaw {
    FlawKind kind;
    int block;
    std::uint32_t step;
    Value left;
    Value right;
  };

  Value addFlaw(const Flaw& flaw);

  const FlatProgram& m_flat;
  RankSets m_sets;
  std::vector<Flaw> m_flaws;
};

}  // namespace coppice::verify
