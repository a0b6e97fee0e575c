// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/collective.hpp"
#include "fabric/fabric.hpp"

/// What may be said of a bound on the throughput. Where trees that share the links were not looked at, the optimum is
/// that of switches that only forward, and of an allreduce that is a reduce-scatter followed by an allgather; other
/// schedules can be faster where a fabric allows more.
namespace coppice::schedule {

/// Which schedules of a collective are not faster than its bound.
enum class BoundScope {
  all,           ///< any
  trees,         ///< allreduce: those by trees, also where both halves run at the same time and switches copy and sum
  halves,        ///< allreduce: a reduce-scatter followed by an allgather
  plainSwitches  ///< transfers between GPUs: switches of this fabric that sum or copy may be faster
};

/// What the nodes of a fabric that are not GPUs can do.
struct SwitchAbilities {
  bool copy = false;        ///< some multicast
  bool sum = false;         ///< some aggregate
  bool isBalanced = false;  ///< ingress equals egress at every node
};

/// What proves the bound.
struct BoundEvidence {
  bool hasCut = false;      ///< the bandwidth of a cut, which switches cannot raise; of an allreduce it says nothing
  bool isForTrees = false;  ///< the linear program of B.7, with all that the switches can do
};

[[nodiscard]] SwitchAbilities switchAbilities(const fabric::Fabric& fabric);
/// Whether the collective has use for what some switch can do.
[[nodiscard]] bool canGain(const SwitchAbilities& switches, Collective collective);

/// Without the program, an allreduce gains by sums and copies in switches; collectives that only copy, or only sum,
/// where ingress and egress differ and forwarding, not a cut, is the limit.
[[nodiscard]] BoundScope boundScope(const SwitchAbilities& switches, Collective collective,
                                    const BoundEvidence& evidence);
[[nodiscard]] BoundScope boundScope(const fabric::Fabric& fabric, Collective collective, const BoundEvidence& evidence);

/// No schedule by trees, or no schedule at all, is faster: nothing that this program can make is better.
[[nodiscard]] bool isOptimum(BoundScope scope);
/// "no schedule of this collective is faster on this fabric".
[[nodiscard]] std::string_view sentenceOf(BoundScope scope);
/// What shares are of: "the optimum".
[[nodiscard]] std::string_view nameOf(BoundScope scope);

}  // namespace coppice::schedule
