// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace coppice::executor {

/// From the kernel; for unique names and tokens.
[[nodiscard]] std::uint64_t randomWord();

/// How a process of the same user finds a segment.
struct SegmentAddress {
  std::int64_t pid = 0;
  std::int32_t descriptor = -1;  ///< of an anonymous file, found below /proc/PID/fd; -1 = by name
  char name[48] = {};            ///< of a shared memory object, until its maker removes the name
};

/// Zeroed memory that processes of one host share, not yet touched. An anonymous file, which goes with the last process
/// that maps it, however that one ends; where processes cannot see each other's files (containers of their own), a
/// named object, whose name is removed as soon as everybody has it.
class SharedSegment {
public:
  SharedSegment() = default;
  ~SharedSegment() { release(); }
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Errors: limit (no memory), unavailable (no such files on this system).
  static Result<SharedSegment> make(std::int64_t bytes, bool isNamed);
  /// Errors: unavailable (not to be seen from this process), limit.
  static Result<SharedSegment> open(const SegmentAddress& address, std::int64_t bytes);

  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] std::int64_t size() const { return m_size; }
  [[nodiscard]] const SegmentAddress& address() const { return m_address; }
  /// Everybody who wants it has it: closes the file, removes the name.
  void conceal();

private:
  static Result<SharedSegment> map(int descriptor, std::int64_t bytes);
  void release();

  std::byte* m_data = nullptr;
  std::int64_t m_size = 0;
  SegmentAddress m_address;
};

}  // namespace coppice::executor
