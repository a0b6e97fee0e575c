// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace coppice::executor {

/// Where a rank's buffers are in one block of memory, in bytes; each is followed and preceded by guard bytes.
struct BufferLayout {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t scratch = 0;
  std::int64_t bytes = 0;            ///< of the whole block, a multiple of 4096
  std::array<Range, 4> guards = {};  ///< what is between and around the buffers, bytes

  [[nodiscard]] std::int64_t start(program::Buffer buffer) const {
    return buffer == program::Buffer::input ? input : buffer == program::Buffer::output ? output : scratch;
  }
};
/// Buffers start at multiples of 64. Throws OverflowError.
[[nodiscard]] BufferLayout layOutBuffers(const Plan& plan, const Geometry& geometry, int rank);

void writeGuards(std::byte* block, const BufferLayout& layout);
/// Guard bytes that no longer are as written.
[[nodiscard]] std::int64_t damagedGuards(const std::byte* block, const BufferLayout& layout);

/// Anonymous memory of this process, not yet touched.
class Mapping {
public:
  Mapping() = default;
  ~Mapping() { release(); }
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Makes it at least so long; the contents are lost if it grows. @return whether it is new memory. Errors: limit.
  Result<bool> reserve(std::int64_t bytes);
  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] std::int64_t size() const { return m_size; }

private:
  void release();

  std::byte* m_data = nullptr;
  std::int64_t m_size = 0;
};

}  // namespace coppice::executor
