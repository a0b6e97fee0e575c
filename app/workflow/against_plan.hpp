// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/comparison.hpp"
#include "fabric/fabric.hpp"

/// What is wired against what was planned or bought, and what each difference costs.
namespace coppice::workflow {

inline constexpr std::size_t kMaxPlanCosts = 64;  ///< differences whose cost is computed: each takes a bound

struct PlanDifference {
  fabric::Difference difference;
  bool isFault = false;  ///< the plan has it and the wiring has not; else the wiring has more
  /// Allgather of the plan with this difference alone, GB/s; 0 where it cuts GPUs off; empty where it was not computed.
  std::optional<Bandwidth> boundWith = {};
  /// Ids in what is wired that it is about: the node, the ends of the link, or what a missing part would be joined to.
  std::vector<std::string> places = {};
  std::string cost = {};  ///< "the allgather falls from 400 GB/s to 350 GB/s"; empty where it was not computed
};

struct AgainstPlan {
  bool isById = false;                      ///< nodes are matched by their ids; else by structure
  std::optional<Bandwidth> planned = {};    ///< allgather of the whole plan
  std::optional<Bandwidth> wired = {};      ///< and of what is wired; empty where it has none
  std::vector<PlanDifference> differences;  ///< in the order of the plan
  std::size_t faults = 0;
};

/// Costs are those of each difference by itself, for the first kMaxPlanCosts faults. Where one of the two has no NICs,
/// those of the other count as links between what they join.
[[nodiscard]] AgainstPlan againstPlan(const fabric::Fabric& planAsStated, const fabric::Fabric& wiredAsFound,
                                      const Progress& progress);

}  // namespace coppice::workflow
