// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "alltoall/alltoall.hpp"
#include "workflow/generator.hpp"

namespace coppice::workflow {

/// All-to-all over the routing of the maximum concurrent flow.
[[nodiscard]] Generator alltoallMethod();
[[nodiscard]] std::vector<Option> alltoallOptions();
/// What is asked with these options. Errors: badUsage.
[[nodiscard]] Result<alltoall::Request> alltoallRequest(const OptionValues& values);

/// The optimum with both of its certificates verified, sharing nothing with the search. Errors: those of
/// alltoall::optimum; verification.
[[nodiscard]] Result<alltoall::Optimum> verifiedAlltoall(const fabric::Fabric& fabric, const alltoall::Request& request,
                                                         const Progress& progress);

}  // namespace coppice::workflow
