// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rational.hpp"

namespace coppice::bfb {

using Word = std::uint64_t;

/// Jobs that may be cut into parts, each to be done by the links of its mask. Equal jobs are one class.
struct HallProblem {
  std::size_t words = 1;             ///< of a mask
  std::vector<Word> masks;           ///< by class; bit j = in-link j
  std::vector<std::int64_t> counts;  ///< by class: its jobs
  std::vector<std::int64_t> widths;  ///< by in-link
  std::vector<Rational> latencies;   ///< by in-link; empty = none

  [[nodiscard]] std::size_t classCount() const { return counts.size(); }
  [[nodiscard]] std::span<const Word> mask(std::size_t at) const {
    return std::span<const Word>(masks).subspan(at * words, words);
  }
};

/// The largest cnt(W)/b(W) over sets W of in-links and a set that attains it, where cnt(W) counts the jobs whose mask
/// lies inside W. With latencies, the largest over W of the smallest U in which the links of W do cnt(W) jobs, link j
/// doing max(0, U - latency) * width.
struct HallValue {
  Rational ratio;
  std::vector<Word> tight;
  std::int64_t jobs = 0;   ///< cnt(W)
  std::int64_t width = 1;  ///< b(W)
};

/// Newton on max flows: starts at the ratio of all jobs, or of one class; a flow that falls short names a W of larger
/// ratio. Throws OverflowError. @pre every class has a job and a link
[[nodiscard]] HallValue solveHall(const HallProblem& problem);

/// By in-link the whole chunks that it carries: floor(max(0, value - chunks * latency) * width).
[[nodiscard]] std::vector<std::int64_t> wholeCapacities(const HallProblem& problem, const Rational& value,
                                                        std::int64_t chunks);
/// Smallest V for which whole chunks suffice: every job cut into `chunks`, and the capacities those of V. V is chunks *
/// ratio where that makes all capacities whole numbers. Throws OverflowError.
/// @param ratio of solveHall
[[nodiscard]] Rational solveWhole(const HallProblem& problem, const Rational& ratio, std::int64_t chunks);

/// What every class gives to each of its links.
struct Share {
  int link = 0;
  std::int64_t amount = 0;
};
struct Assignment {
  std::vector<std::size_t> first;  ///< by class, into shares; one more at the end
  std::vector<Share> shares;
};

/// Flow of classes into links.
class ClassFlow {
public:
  explicit ClassFlow(const HallProblem& problem);

  /// Sends counts[c] * perJob of each class within the capacities (by link); false where they do not suffice.
  bool fill(std::int64_t perJob, std::span<const std::int64_t> capacities);
  /// After fill() fell short: the links that the rest can reach; they are full and hold no part of other classes.
  [[nodiscard]] const std::vector<char>& reachedLinks() const { return m_isReached; }
  /// After fill() succeeded.
  [[nodiscard]] Assignment assignment() const;

private:
  void sendGreedily();
  bool augment();
  std::size_t search();
  void sendAlong(std::size_t link);

  std::size_t m_links = 0;
  std::vector<std::int64_t> m_counts;
  std::vector<std::size_t> m_first;  ///< by class, into m_link and m_flow
  std::vector<int> m_link;
  std::vector<std::int64_t> m_flow;
  std::vector<std::size_t> m_firstOf;  ///< by link, into m_entry: the entries of the link
  std::vector<std::size_t> m_entry;
  std::vector<std::size_t> m_classOf;  ///< by entry
  std::vector<std::size_t> m_order;    ///< classes, fewest links first
  std::vector<std::int64_t> m_rest;    ///< by class, not yet sent
  std::vector<std::int64_t> m_room;    ///< by link
  std::vector<char> m_isReached;
  std::vector<std::size_t> m_into;  ///< by reached link: the entry it was reached by
  std::vector<std::size_t> m_from;  ///< by reached class: the entry whose link led to it; none = it has rest
  std::vector<char> m_isClassReached;
};

}  // namespace coppice::bfb
