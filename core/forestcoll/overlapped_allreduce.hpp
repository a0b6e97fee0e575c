// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"

namespace coppice::forestcoll {

/// The best allreduce by trees (App. B.7): roots take what amounts suit them, and in-trees and out-trees share the
/// links at the same time. Its algbw is the optimum of the linear program, at least that of reduce-scatter then
/// allgather and more where GPUs differ. The shares of the links are packed with trees by Algorithms 3 and 4, once on
/// the fabric and once on its transpose; the result is an asynchronous step schedule of one phase, which is not
/// verified here. `optimum` has no cuts. Of the request, allreduceBudget and heightEffort count. Errors: badUsage
/// (another collective), limit (the program was not solved), overflow, cancelled.
Result<Routed> overlapAllreduce(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

}  // namespace coppice::forestcoll
