// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "workflow/target.hpp"

namespace coppice::workflow {

/// mscclpp: execution plans of memory and port channels, which releases 0.8 to main run. mscclpp-nvls: an allreduce
/// whose trees switches of NVLink domains sum and copy.
[[nodiscard]] std::vector<Target> mscclppTargets();

/// A Python file that registers plans in a process, the commands that start it and MSCCL++'s own test, and what nobody
/// but the user can see to. Errors: badInput (a file that is no plan), badUsage: two of one name, windows of one
/// collective that overlap, in place and out of place together, different numbers of ranks.
[[nodiscard]] Result<std::vector<LaunchFile>> mscclppLaunch(std::span<const LaunchFile> plans);

}  // namespace coppice::workflow
