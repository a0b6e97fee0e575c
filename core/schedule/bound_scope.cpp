// SPDX-License-Identifier: Apache-2.0
#include "schedule/bound_scope.hpp"

namespace coppice::schedule {
bool canGain(const SwitchAbilities& switches, Collective collective) {
  switch (collective) {
    case Collective::allgather:
    case Collective::broadcast:
      return switches.copy;
    case Collective::reduceScatter:
    case Collective::reduce:
      return switches.sum;
    case Collective::allreduce:
      return switches.copy || switches.sum;
    case Collective::gather:
    case Collective::scatter:
    case Collective::alltoall:
    case Collective::custom:
      break;
  }
  return false;
}

SwitchAbilities switchAbilities(const fabric::Fabric& fabric) {
  SwitchAbilities switches{.isBalanced = fabric.isBalanced()};
  for (const fabric::Node& node : fabric.nodes()) {
    if (node.kind != fabric::NodeKind::gpu) {
      switches.copy = switches.copy || node.multicast;
      switches.sum = switches.sum || node.aggregation;
    }
  }
  return switches;
}

BoundScope boundScope(const SwitchAbilities& switches, Collective collective, const BoundEvidence& evidence) {
  const bool gains = canGain(switches, collective);
  if (collective == Collective::allreduce) {
    return evidence.isForTrees ? BoundScope::trees : gains ? BoundScope::plainSwitches : BoundScope::halves;
  }
  return gains && !switches.isBalanced && !evidence.hasCut && !evidence.isForTrees ? BoundScope::plainSwitches
                                                                                   : BoundScope::all;
}

BoundScope boundScope(const fabric::Fabric& fabric, Collective collective, const BoundEvidence& evidence) {
  return boundScope(switchAbilities(fabric), collective, evidence);
}

bool isOptimum(BoundScope scope) {
  return scope == BoundScope::all || scope == BoundScope::trees;
}

std::string_view sentenceOf(BoundScope scope) {
  switch (scope) {
    case BoundScope::all:
      return "no schedule of this collective is faster on this fabric";
    case BoundScope::trees:
      return "no allreduce by trees is faster on this fabric";
    case BoundScope::halves:
      return "no reduce-scatter followed by an allgather is faster on this fabric; transfers that overlap may be";
    case BoundScope::plainSwitches:
      break;
  }
  return "the best of schedules by trees of transfers between GPUs; switches of this fabric that sum or copy may be "
         "faster";
}

std::string_view nameOf(BoundScope scope) {
  switch (scope) {
    case BoundScope::all:
      return "the optimum";
    case BoundScope::trees:
      return "the optimum of trees";
    case BoundScope::halves:
      return "the best reduce-scatter then allgather";
    case BoundScope::plainSwitches:
      break;
  }
  return "the best by transfers between GPUs";
}

}  // namespace coppice::schedule
