// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"

namespace coppice::workflow {

/// forestcoll::optimum(), of which the verifier has checked the proof that no trees do better, where there is one.
/// Errors: those of optimum(); verification.
Result<forestcoll::Optimum> provedOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                          const Progress& progress = {});

}  // namespace coppice::workflow
