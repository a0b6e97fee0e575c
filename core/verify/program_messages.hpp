// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/program.hpp"

namespace coppice::verify {

/// Chunks that one message holds for the largest size of the program's window: at least 1, at most what a step moves.
[[nodiscard]] int fullestMessage(const program::Program& program, program::Runtime runtime);

}  // namespace coppice::verify
