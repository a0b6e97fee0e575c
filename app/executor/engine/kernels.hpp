// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/types.hpp"

/// What the host's cores do with data. The widths of this machine are chosen at run time (baseline, AVX2, AVX-512).
namespace coppice::executor {

/// streamed: the destination is not read again soon; its lines bypass the caches (non-temporal stores), and everything
/// is visible to other cores when the call returns.
enum class Store { cached, streamed };

/// dst and src do not overlap.
void copyBytes(std::byte* dst, const std::byte* src, std::int64_t bytes, Store store);

/// dst = a op b by elements; `bytes` is a multiple of the element. dst may be a or b, but nothing overlaps otherwise.
/// half and bfloat16 are computed in float and rounded to nearest even once per call; integers wrap around.
/// avg adds, see divideBytes.
void reduceBytes(DataType type, ReduceOp op, std::byte* dst, const std::byte* a, const std::byte* b, std::int64_t bytes,
                 Store store);

/// The end of avg: data / divisor. Floats are divided (half and bfloat16 in float); integers lose their fraction.
void divideBytes(DataType type, std::byte* data, std::int64_t bytes, int divisor);

/// "avx512", "avx2", "baseline".
[[nodiscard]] const char* kernelWidth();

[[nodiscard]] float halfToFloat(std::uint16_t bits);
/// Rounds to nearest even.
[[nodiscard]] std::uint16_t floatToHalf(float value);
[[nodiscard]] float bfloatToFloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t floatToBfloat(float value);

}  // namespace coppice::executor
