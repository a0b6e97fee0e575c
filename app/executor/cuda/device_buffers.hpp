// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/gpus.hpp"
#include "engine/buffers.hpp"

/// Callers' buffers in memory of GPUs.
namespace coppice::executor::cuda {

/// Why this many bytes do not fit with all arenas of the device given back; nullopt where they do. Errors: those of
/// Gpus::available.
/// @param size of the collective
Result<std::optional<Error>> lackOfRoom(Gpus& gpus, int device, std::int64_t needed, std::int64_t size);

/// As writeGuards and damagedGuards of engine/buffers.hpp. Guards that cannot be read count as damaged.
Outcome writeGuards(Gpus& gpus, int device, unsigned char* block, const BufferLayout& layout);
[[nodiscard]] std::int64_t damagedGuards(Gpus& gpus, int device, const unsigned char* block,
                                         const BufferLayout& layout);

}  // namespace coppice::executor::cuda
