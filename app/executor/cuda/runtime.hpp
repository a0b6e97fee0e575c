// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"

/// The CUDA runtime with owners and errors.
namespace coppice::executor::cuda {

/// "cannot copy: out of memory". Memory is ErrorCode::limit, a missing or old driver or device unavailable.
[[nodiscard]] Error describeCuda(cudaError_t error, const std::string& doing);
[[nodiscard]] Outcome checked(cudaError_t error, const std::string& doing);

/// Memory of one device.
class DeviceMemory {
public:
  explicit DeviceMemory(int device) : m_device(device) {}
  ~DeviceMemory() { release(); }
  DeviceMemory(DeviceMemory&& other) noexcept
      : m_device(other.m_device),
        m_data(std::exchange(other.m_data, nullptr)),
        m_bytes(std::exchange(other.m_bytes, 0)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  /// Makes it at least so long; the contents are lost if it grows.
  Outcome reserve(std::int64_t bytes);
  void release();
  /// The device is lost: what it holds cannot be given back.
  void forget() { m_data = nullptr; }
  [[nodiscard]] unsigned char* data() const { return m_data; }
  [[nodiscard]] std::int64_t bytes() const { return m_bytes; }

private:
  int m_device;
  unsigned char* m_data = nullptr;
  std::int64_t m_bytes = 0;
};

/// Pinned memory of the host that all devices reach at the same address.
class PinnedMemory {
public:
  PinnedMemory() = default;
  ~PinnedMemory() { release(); }
  PinnedMemory(PinnedMemory&& other) noexcept
      : m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0)) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  PinnedMemory& operator=(PinnedMemory&&) = delete;

  Outcome reserve(std::int64_t bytes);
  void release();
  void forget() { m_data = nullptr; }
  [[nodiscard]] unsigned char* data() const { return m_data; }
  [[nodiscard]] std::int64_t bytes() const { return m_bytes; }

private:
  unsigned char* m_data = nullptr;
  std::int64_t m_bytes = 0;
};

}  // namespace coppice::executor::cuda
