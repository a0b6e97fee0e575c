// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

/// Conversions of 16-bit floats without branches, so that loops over them vectorise on any machine.
namespace coppice::executor::half {

[[gnu::always_inline]] inline float fromHalf(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  // Exponent and fraction moved into place stand for a value 2^112 too small, also for subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7C00U ? 0x7F800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

[[gnu::always_inline]] inline std::uint16_t toHalf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Normal results: the exponent is shifted by 112 and the fraction rounded to nearest even.
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  // Subnormal results: adding 0.5 lets the adder round at the last bit of a half.
  const std::uint32_t tiny =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t special = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
  std::uint32_t result = magnitude < 0x38800000U ? tiny : normal;
  result = magnitude >= 0x477FF000U ? special : result;  // from 65520 on everything rounds to infinity
  return static_cast<std::uint16_t>(result | sign);
}

[[gnu::always_inline]] inline float fromBfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[gnu::always_inline]] inline std::uint16_t toBfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quietNan = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quietNan : rounded);
}

}  // namespace coppice::executor::half
