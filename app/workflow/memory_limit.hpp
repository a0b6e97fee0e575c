// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

/// Memory of the program: it ends with a message before the system ends it without one.
namespace coppice::workflow {

/// Holds the process to --memory-limit (as parseBytes reads it; empty = none given), and in any case to what is
/// available less a margin. Errors: badUsage for no amount or one below 64 MiB.
[[nodiscard]] Outcome applyMemoryLimit(const std::string& limit);

/// "not enough memory", with the limit and what helps.
[[nodiscard]] Error outOfMemory();

}  // namespace coppice::workflow
