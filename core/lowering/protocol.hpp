// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"
#include "program/rooted.hpp"

namespace coppice::lowering {

/// By the boxes of the GPUs; unknown where some GPUs have none and the others do not settle it.
[[nodiscard]] program::Reach reachOf(const fabric::Fabric& fabric);

/// The protocol of a program: the one asked for, or else Simple, or LL where Simple would hang.
/// Errors: badUsage where the one asked for hangs for certain (see program::hangsOnNetwork). A fabric without boxes
/// does not tell; the verifier's judgement of the program warns there.
[[nodiscard]] Result<program::Protocol> chooseProtocol(const fabric::Fabric& fabric, Collective collective,
                                                       std::optional<program::Protocol> asked,
                                                       program::Runtime runtime = program::Runtime::msccl);

}  // namespace coppice::lowering
