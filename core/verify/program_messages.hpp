// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "program/program.hpp"

namespace coppice::verify {

/// Chunks that one message holds for the largest size of the program's window: at least 1, at most what a step moves.
[[nodiscard]] int fullestMessage(const program::Program& program, program::Runtime runtime);

/// The largest maxBytes at which messages hold this many chunks, with the runtime's default buffers; 0 = none, or not
/// known. @pre chunks >= 1
[[nodiscard]] std::int64_t largestWindow(const program::Program& program, program::Runtime runtime, int chunks);

}  // namespace coppice::verify
