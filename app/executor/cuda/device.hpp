// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"
#include "cuda/shape.hpp"
#include "cuda/wiring.hpp"

namespace coppice::executor::cuda {

/// Launches that are under way before the host waits for them.
inline constexpr int kBatch = 16;

/// One GPU and what a run keeps on it.
struct Device {
  /// Errors: unavailable (too old, no cooperative launch, in exclusive use), limit.
  static Result<std::unique_ptr<Device>> open(int id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Loads the kernels of a type and asks how many blocks are resident with each number of threads. While kernels of
  /// a run wait for each other nothing may be loaded any more.
  Result<DeviceRoom> load(int type);
  /// Free memory, and what the arenas here could give back.
  Result<std::int64_t> available();
  Outcome use();
  Outcome copyTo(void* device, const void* host, std::int64_t bytes);
  Outcome copyFrom(void* host, const void* device, std::int64_t bytes);
  Outcome fill(void* device, int value, std::int64_t bytes);
  /// Bytes per second, read plus written, of the device's own copies. 0 = not measured.
  double measureCopies();
  /// A kernel does not end: nothing here can be given back.
  void forget();

  int id = 0;
  std::string name;
  int capability = 0;  ///< 90 = 9.0
  cudaStream_t stream = nullptr;
  std::vector<cudaEvent_t> starts;  ///< kBatch each
  std::vector<cudaEvent_t> ends;
  DeviceMemory buffers;
  DeviceMemory slotRings;
  DeviceMemory control;
  DeviceMemory program;  ///< operations, then views
  DeviceMemory trace;
  PinnedMemory progress;

private:
  explicit Device(int number);
};

}  // namespace coppice::executor::cuda
