// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "lowering/lowering.hpp"
#include "workflow/compare.hpp"
#include "workflow/target.hpp"

/// The best program for each band of sizes.
namespace coppice::workflow {

/// One program with its window.
struct PlannedProgram {
  std::size_t contender = 0;
  std::int64_t first = 0;  ///< bytes of the whole collective, included
  std::int64_t last = 0;   ///< included
  std::string name;        ///< of its files, without ending: "02-multi-ring"
  std::string text = {};   ///< of the file, verified, with the window
};

struct SwitchPlan {
  Comparison comparison;  ///< among those that the runtime can run
  std::vector<PlannedProgram> programs;
  std::vector<Refused> refused;  ///< fastest somewhere, but not as a program of this runtime
};

/// Lowers the fastest of each band for its sizes alone, in the protocol that is fastest there where the target has
/// several. One that the runtime cannot run is left out, and the bands are
/// found again. Errors: those of compare; infeasible where nothing is left. @pre all
/// contenders are schedules
[[nodiscard]] Result<SwitchPlan> switchPlan(std::span<const Contender> contenders, Comparison comparison,
                                            const SweepOptions& options, const Destination& destination,
                                            const Progress& progress);

}  // namespace coppice::workflow
