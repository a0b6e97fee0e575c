// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "cuda/gpu_plan_backend.hpp"
#include "cuda/gpus.hpp"
#include "cuda/solo_backend.hpp"
#include "mpi/shared_segment.hpp"

/// GPUs without GPUs: memory of the host, and the same interpreter on host threads. The backends above cannot tell.
namespace coppice::executor::cuda::test {

struct HostOptions {
  unsigned lanes = 1;
  int strands = 1;
  /// Pretended devices and which of them reach each other.
  Reach reach = {{true}};
  /// Memory of other processes can be mapped.
  bool maps = true;
  /// Number of a launch that fails, from 1 on; 0 = none.
  int failingLaunch = 0;
  /// Threads of a busy machine may stand still for long without being stuck.
  double deadlockSeconds = 100;
};

class HostGpus : public Gpus {
public:
  explicit HostGpus(HostOptions options);
  ~HostGpus() override;

  [[nodiscard]] int count() const override { return static_cast<int>(m_options.reach.size()); }
  [[nodiscard]] std::string name(int device) const override { return "GPU " + std::to_string(device); }
  [[nodiscard]] std::map<std::string, std::string> facts() const override;
  [[nodiscard]] Reach reach() const override { return m_options.reach; }
  Result<DeviceRoom> load(int device, DataType type, KernelKind which) override;

  Result<std::int64_t> available(int device) override;
  Outcome reserve(int device, Arena arena, std::int64_t bytes) override;
  void release(int device, Arena arena) override;
  [[nodiscard]] MemoryRange memory(int device, Arena arena) const override;
  Outcome reserve(Pinned what, std::int64_t bytes) override;
  [[nodiscard]] MemoryRange memory(Pinned what) const override;
  Outcome pin(std::byte* memory, std::int64_t bytes) override;
  void unpin(std::byte* memory) override;
  Outcome copyTo(int device, void* to, const void* host, std::int64_t bytes) override;
  Outcome copyFrom(int device, void* host, const void* from, std::int64_t bytes) override;
  Outcome fill(int device, void* memory, int value, std::int64_t bytes) override;
  Outcome zeroWords(int device, Word* first, std::int64_t stride, std::int64_t count) override;

  Result<ArenaTicket> offer(int device, Arena arena) override;
  Result<unsigned char*> take(int device, const ArenaTicket& ticket, std::int64_t bytes) override;
  void giveBack(int device, unsigned char* memory) override;

  Outcome launch(int slot, bool first, DataType type, const std::vector<DeviceJob>& jobs, const RunView& run) override;
  Outcome launch(int slot, bool first, DataType type, const std::vector<PlanJob>& jobs, const PlanRun& run) override;
  Outcome divide(int slot, DataType type, const std::vector<Division>& divisions, int divisor) override;
  Result<bool> isDone(int slot) override;
  Result<double> seconds(int from, int to) override;
  void wake(const Word* word) override;
  Result<std::int64_t> clockOffset(int /*device*/) override { return std::int64_t{0}; }
  double measureCopies(int /*device*/) override { return 1e9; }
  void forget() override {}

private:
  using Clock = std::chrono::steady_clock;
  void enqueue(int slot, std::function<void()> work);
  void serve();
  /// A thread for each lane of each block. @param body gets a block, a lane and what all share
  template <typename SharedMemory, typename Job, typename View, typename Body>
  Outcome start(int slot, const std::vector<Job>& jobs, const View& run, Body body);

  HostOptions m_options;
  std::vector<std::array<SharedSegment, kArenas>> m_arenas;
  std::array<std::vector<std::byte>, kPinned> m_pinned;
  std::map<unsigned char*, SharedSegment> m_taken;
  std::vector<std::byte*> m_registered;

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::pair<int, std::function<void()>>> m_queue;
  std::array<int, kBatch> m_pending = {};  ///< by slot
  std::array<Clock::time_point, kBatch> m_starts;
  std::array<Clock::time_point, kBatch> m_ends;
  int m_launches = 0;
  bool m_isClosing = false;
  std::thread m_worker;
};

/// The backend of one process over host threads.
std::unique_ptr<Backend> hostBackend(const Plan& plan, HostOptions options);
/// The same for an execution plan of MSCCL++.
Result<std::unique_ptr<Backend>> hostPlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                 HostOptions options);

}  // namespace coppice::executor::cuda::test
