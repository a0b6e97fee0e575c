// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rational.hpp"
#include "base/rows.hpp"
#include "flow/max_flow.hpp"

namespace coppice::bfb {

using Word = std::uint64_t;

/// Shards that may be cut into parts, each to come over the links of its mask. Equal shards are one class.
struct StepProblem {
  std::size_t words = 1;             ///< of a mask
  std::vector<Word> masks;           ///< by class; bit j = in-link j
  std::vector<std::int64_t> counts;  ///< by class: its shards
  std::vector<std::int64_t> widths;  ///< by in-link
  std::vector<Rational> latencies;   ///< by in-link; empty = none

  [[nodiscard]] std::size_t classCount() const { return counts.size(); }
  [[nodiscard]] std::span<const Word> mask(std::size_t at) const {
    return std::span<const Word>(masks).subspan(at * words, words);
  }
};

/// The largest cnt(W)/b(W) over sets W of in-links and a set that attains it, where cnt(W) counts the shards whose mask
/// lies inside W. With latencies, the largest over W of the smallest U in which the links of W carry cnt(W) shards,
/// link j carrying max(0, U - latency) * width.
struct StepLoad {
  Rational ratio;
  std::vector<Word> tight;
  std::int64_t shards = 0;  ///< cnt(W)
  std::int64_t width = 1;   ///< b(W)
};

/// Newton on max flows: starts at the ratio of all shards, or of one class; a flow that falls short names a W of larger
/// ratio. Throws OverflowError. @pre every class has a shard and a link
[[nodiscard]] StepLoad solveStep(const StepProblem& problem);

/// By in-link the whole chunks that it carries: floor(max(0, value - chunks * latency) * width).
[[nodiscard]] std::vector<std::int64_t> wholeCapacities(const StepProblem& problem, const Rational& value,
                                                        std::int64_t chunks);
/// Smallest V for which whole chunks suffice: every shard cut into `chunks`, and the capacities those of V. V is chunks
/// * ratio where that makes all capacities whole numbers. Throws OverflowError.
/// @param ratio of solveStep
[[nodiscard]] Rational solveWhole(const StepProblem& problem, const Rational& ratio, std::int64_t chunks);

/// What a class gives to one of its links.
struct Share {
  int link = 0;
  std::int64_t amount = 0;
};

/// By class.
using Assignment = Rows<Share, std::size_t>;

/// Flow of classes into links.
class ClassFlow {
public:
  explicit ClassFlow(const StepProblem& problem);

  /// Sends counts[c] * perShard of each class within the capacities (by link); false where they do not suffice. Throws
  /// OverflowError.
  bool fill(std::int64_t perShard, std::span<const std::int64_t> capacities);
  /// After fill() fell short: the links that the rest can reach; they are full and hold no part of other classes.
  [[nodiscard]] std::vector<char> reachedLinks() const;
  /// After fill() succeeded.
  [[nodiscard]] Assignment assignment() const;

private:
  // Nodes of m_flow: the classes, the links, then these two.
  [[nodiscard]] int classCount() const { return static_cast<int>(m_counts.size()); }
  [[nodiscard]] int source() const { return classCount() + m_links; }
  [[nodiscard]] int sink() const { return source() + 1; }

  std::vector<std::int64_t> m_counts;
  int m_links;
  flow::MaxFlow m_flow;
  Assignment m_shares;       ///< the links of each class, no amounts
  std::vector<int> m_order;  ///< classes, fewest links first
};

}  // namespace coppice::bfb
