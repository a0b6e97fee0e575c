// SPDX-License-Identifier: Apache-2.0
#include "groups/demand_check.hpp"

#include <set>
#include <string>

namespace coppice::groups {

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;

namespace {

Error badGroup(std::size_t index, const std::string& what, const std::string& fix) {
  return {ErrorCode::badUsage, "group " + std::to_string(index) + " " + what, fix};
}

}  // namespace

std::optional<Error> faultOf(const ConcurrentDemand& demand, int gpus) {
  if (demand.groups.empty()) {
    return Error{ErrorCode::badUsage, "there are no groups", "give at least one group of two GPUs"};
  }
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    const ConcurrentGroup& group = demand.groups[i];
    if (group.ranks.size() < 2) {
      return badGroup(i, "has fewer than two ranks", "leave it out, or add ranks");
    }
    std::set<fabric::Rank> seen;
    for (const fabric::Rank rank : group.ranks) {
      if (rank < 0 || rank >= gpus) {
        return badGroup(
            i, "has rank " + std::to_string(rank) + ", and the fabric's go from 0 to " + std::to_string(gpus - 1),
            "use ranks of the fabric");
      }
      if (!seen.insert(rank).second) {
        return badGroup(i, "has rank " + std::to_string(rank) + " twice", "list each rank once");
      }
    }
    if (!group.weight.isPositive()) {
      return badGroup(i, "has weight " + group.weight.toString(), "use a weight above 0");
    }
    if (group.collective == Collective::custom) {
      return badGroup(i, "has no named collective", "use allgather, allreduce, alltoall or another named one");
    }
    if (isRooted(group.collective) && (group.root < 0 || group.root >= static_cast<int>(group.ranks.size()))) {
      return badGroup(i, "has a root that is not one of its ranks", "name one of its ranks as root");
    }
  }
  return std::nullopt;
}

}  // namespace coppice::groups
