// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"

/// Internal to core/lowering: what programs of trees and of steps have in common.
namespace coppice::lowering {

/// Errors: badUsage.
[[nodiscard]] Outcome checkOptions(const Options& options);

/// "coppice allgather 2x-dgx-a100 k13". @param tail " k13"
[[nodiscard]] std::string makeName(const fabric::Fabric& fabric, Collective collective, const std::string& tail);

/// Scratch that the runtime addresses, then the window of sizes: only MSCCL reserves scratch for the largest size
/// beforehand. Errors: limit. @param fix what would make scratch fit
[[nodiscard]] Outcome setWindow(program::Program& program, const Options& options, const std::string& fix);

}  // namespace coppice::lowering
