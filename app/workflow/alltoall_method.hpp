// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "alltoall/alltoall.hpp"
#include "workflow/method.hpp"

namespace coppice::workflow {

/// All-to-all over the routing of the maximum concurrent flow.
[[nodiscard]] Method alltoallMethod();

/// The largest rate, with both of its certificates checked. Errors: those of alltoall::optimum; verification.
[[nodiscard]] Result<std::shared_ptr<const alltoall::Optimum>> verifiedAlltoall(const fabric::Fabric& fabric,
                                                                                const alltoall::Request& request,
                                                                                const Progress& progress);

}  // namespace coppice::workflow
