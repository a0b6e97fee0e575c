// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cuda/device_plan.hpp"
#include "cuda/plan_device.hpp"
#include "cuda/shape.hpp"
#include "cuda/wiring.hpp"
#include "plan/types.hpp"

/// What a backend asks of the GPUs of its process: all that needs the CUDA runtime, and nothing else. Everything above
/// it runs the same on host threads, which is how it is tested where there is no GPU.
namespace coppice::executor::cuda {

/// Launches that may be under way before the host waits for them.
inline constexpr int kBatch = 16;

/// Memory of a device. What other processes map are the first three.
enum class Arena { buffers, rings, control, program, trace };
inline constexpr int kArenas = 5;
inline constexpr int kSharedArenas = 3;

/// Memory of the host that all devices of the process reach at its address.
enum class Pinned { control, rings, progress, abort };
inline constexpr int kPinned = 4;

/// Begins at data; null and 0 where nothing was reserved.
struct MemoryRange {
  unsigned char* data = nullptr;
  std::int64_t bytes = 0;
};

/// By what another process of this host finds an arena.
struct ArenaTicket {
  std::array<char, 64> bytes = {};
};

/// Which kernel: that of programs (block_interpreter.hpp) or of execution plans (plan_interpreter.hpp).
enum class KernelKind { programs, plans };

/// What one device does in a launch.
struct DeviceJob {
  const BlockView* views = nullptr;  ///< in memory of the device
  std::size_t count = 0;             ///< 0 = it has nothing to do
  int threads = 0;
};
/// The same with an execution plan.
struct PlanJob {
  const PlanView* views = nullptr;
  std::size_t count = 0;
  int threads = 0;
};

/// Devices count from 0 within the process. Calls come from one thread. Errors are those of the runtime (describeCuda).
class Gpus {
public:
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  virtual ~Gpus() = default;

  [[nodiscard]] virtual int count() const = 0;
  /// "GPU 2", as this process counts.
  [[nodiscard]] virtual std::string name(int device) const = 0;
  /// What it is, for records; "GPU 2": "NVIDIA H100, compute capability 9.0", versions.
  [[nodiscard]] virtual std::map<std::string, std::string> facts() const = 0;
  /// Among the devices of the process.
  [[nodiscard]] virtual Reach reach() const = 0;
  /// Loads the kernels of a type, since nothing may be loaded while kernels wait for each other.
  virtual Result<DeviceRoom> load(int device, DataType type, KernelKind which) = 0;

  // ---- memory

  /// Free bytes, and what the arenas of the device could give back.
  virtual Result<std::int64_t> available(int device) = 0;
  /// Makes it at least so long; the contents are lost if it grows.
  virtual Outcome reserve(int device, Arena arena, std::int64_t bytes) = 0;
  virtual void release(int device, Arena arena) = 0;
  [[nodiscard]] virtual MemoryRange memory(int device, Arena arena) const = 0;
  virtual Outcome reserve(Pinned what, std::int64_t bytes) = 0;
  [[nodiscard]] virtual MemoryRange memory(Pinned what) const = 0;
  /// Lets the devices reach memory that is there already; until unpin, which comes before it is given back.
  virtual Outcome pin(std::byte* memory, std::int64_t bytes) = 0;
  virtual void unpin(std::byte* memory) = 0;

  // Copies have ended when the call returns; fills come before the device's next copy or launch.
  virtual Outcome copyTo(int device, void* to, const void* host, std::int64_t bytes) = 0;
  virtual Outcome copyFrom(int device, void* host, const void* from, std::int64_t bytes) = 0;
  virtual Outcome fill(int device, void* memory, int value, std::int64_t bytes) = 0;
  /// Zeroes this many words, each `stride` words after the one before.
  virtual Outcome zeroWords(int device, Word* first, std::int64_t stride, std::int64_t count) = 0;

  // ---- memory of other processes

  virtual Result<ArenaTicket> offer(int device, Arena arena) = 0;
  /// Maps another process's arena, so that `device` reaches it. Errors: unavailable where that cannot be.
  virtual Result<unsigned char*> take(int device, const ArenaTicket& ticket, std::int64_t bytes) = 0;
  /// @pre nothing runs. The other process releases its arena only afterwards.
  virtual void giveBack(int device, unsigned char* memory) = 0;

  // ---- runs

  /// Starts the interpreter on all devices, each after everything in the slot before has ended; `first` waits for none.
  /// @param slot < kBatch
  virtual Outcome launch(int slot, bool first, DataType type, const std::vector<DeviceJob>& jobs,
                         const RunView& run) = 0;
  virtual Outcome launch(int slot, bool first, DataType type, const std::vector<PlanJob>& jobs, const PlanRun& run) = 0;
  /// The end of avg, in the slot launched last and after all its kernels: divides a result of a device.
  struct Division {
    int device = 0;
    unsigned char* data = nullptr;
    std::int64_t elements = 0;
  };
  virtual Outcome divide(int slot, DataType type, const std::vector<Division>& divisions, int divisor) = 0;
  /// Whether everything up to this slot has ended.
  virtual Result<bool> isDone(int slot) = 0;
  /// Seconds from the start of a slot to the end of another, on the slowest device. @pre isDone
  virtual Result<double> seconds(int from, int to) = 0;
  /// The host has written a word that blocks may wait for. Devices poll; threads are woken.
  virtual void wake(const Word* /*word*/) {}
  /// Nanoseconds to add to the device's clock (TraceSlot) for std::chrono::steady_clock's. Measured now; nothing runs.
  virtual Result<std::int64_t> clockOffset(int device) = 0;
  /// Bytes per second, read plus written, of a device's own copies. 0 = not measured.
  virtual double measureCopies(int device) = 0;
  /// A kernel does not end: nothing can be released.
  virtual void forget() = 0;
};

}  // namespace coppice::executor::cuda
