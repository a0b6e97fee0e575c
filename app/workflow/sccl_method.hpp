// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/collective_table.hpp"
#include "workflow/front_method.hpp"
#include "workflow/generator.hpp"

namespace coppice::workflow {

/// Step-synchronous synthesis: the minimum R/C within a number of steps, as far as the time allows.
[[nodiscard]] Generator scclMethod();
/// All that it finds on the way.
[[nodiscard]] FrontMethod scclFront();

/// The same for a collective that a table gives. Errors: badUsage (a table for another number of GPUs), those of
/// scclMethod().
[[nodiscard]] Result<Made> makeForTable(const fabric::Fabric& fabric, const schedule::CollectiveTable& table,
                                        const Values& options, const Progress& progress);

}  // namespace coppice::workflow
