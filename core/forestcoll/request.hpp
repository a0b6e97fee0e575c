// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "fabric/fabric.hpp"
#include "schedule/expansion.hpp"

namespace coppice::forestcoll {

/// Whether the halves of an allreduce run at the same time.
enum class Overlap {
  whereFaster,  ///< than a reduce_scatter and an allgather after it, which has lower trees
  always,
  never
};

/// What is asked. Amounts, root and collective decide the supplies r(v) of the roots.
struct Request {
  Collective collective = Collective::allgather;
  /// broadcast, reduce, gather and scatter only.
  std::optional<fabric::Rank> root = {};
  /// Relative data of each rank (allgather, reduce_scatter, gather, scatter); empty = equal. Non-negative, not all
  /// zero.
  std::vector<std::int64_t> amounts = {};
  /// Trees per root (uniform and rooted) or per unit of amount; absent = the smallest k that reaches the bound.
  std::optional<std::int64_t> fixedK = {};
  /// Scan k = 1..maxK and keep the best (the smallest on a tie); excludes fixedK.
  std::optional<std::int64_t> maxK = {};
  /// Take the least k whose algbw is at least (1 - maxLoss) times the optimum; in (0, 1). Excludes fixedK and maxK.
  std::optional<Rational> maxLoss = {};
  /// No tree may be higher, in GPU-to-GPU hops. Where the optimum cannot be reached under this cap, the best forest
  /// found is taken; algbw says exactly what it does, and Schedule::fixedK is set, since it need not meet the bound.
  std::optional<int> maxHeight = {};
  /// Work spent on low trees: 0 = none, 1 = default (cheap beside the rest), each more about doubles it.
  int heightEffort = 1;
  /// Trees that are written edge by edge take no more bytes, about, in each forest.
  std::int64_t maxTreeBytes = schedule::kMaxWrittenBytes;
  /// Work for each linear program of trees that share the links (B.7, see lp::Milliseconds): that of allreduce, and of
  /// allgather and reduce_scatter where switches copy or sum and links differ by direction. 0 = leave them out: an
  /// allreduce is then a reduce_scatter and an allgather after it.
  std::chrono::milliseconds allreduceBudget = std::chrono::milliseconds(5000);
  /// Limits on the trees (k, height) mean never.
  Overlap overlap = Overlap::whereFaster;
  /// Take no switch to be able to copy or sum, whatever the fabric says.
  bool plainSwitches = false;
  /// allreduce: trees through switches that copy and sum give each GPU its own copy (Schedule::ownCopies).
  bool ownCopies = false;
};

/// fixedK, maxK or maxLoss decides the number of trees.
[[nodiscard]] bool limitsTrees(const Request& request);
/// The same without them: its optimum is that of the fabric. The linear program of an allreduce is asked for as before.
[[nodiscard]] Request withoutTreeLimits(Request request);

}  // namespace coppice::forestcoll
