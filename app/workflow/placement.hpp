// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "groups/placement.hpp"
#include "workflow/options.hpp"

/// Which of the free GPUs a job should get: what is asked, and the answer with its bounds.
namespace coppice::workflow {

/// place and free.
[[nodiscard]] const std::vector<Option>& placementOptions();

/// @param given values of placementOptions(); `place` is set
/// @param relay GPUs that are not chosen pass data on
/// Errors: badUsage naming the option.
[[nodiscard]] Result<schedule::PlacementQuestion> readPlacement(const fabric::Description& description,
                                                                const fabric::Fabric& fabric, const Values& given,
                                                                const std::string& collective, bool relay);

/// The choice with its rate and the bound of all choices checked. Errors: those of groups::place; verification.
[[nodiscard]] Result<groups::Placement> provedPlacement(const fabric::Fabric& fabric,
                                                        const schedule::PlacementQuestion& question,
                                                        const Progress& progress);

/// Why no choice is faster than Placement::upper, as the end of a sentence: "as the cuts of boxes and groups of boxes
/// show".
[[nodiscard]] std::string boundWords(const groups::Placement& placement);

/// Ranks as --gpus takes them: "0-7,12".
[[nodiscard]] std::string rankList(const std::vector<fabric::Rank>& ranks);

}  // namespace coppice::workflow
