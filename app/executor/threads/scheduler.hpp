// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/backend.hpp"
#include "engine/buffers.hpp"
#include "engine/interpreter.hpp"
#include "engine/script.hpp"
#include "engine/stuck.hpp"
#include "plan/plan.hpp"

namespace coppice::executor {

/// What all ranks of a run share: buffers, connections, flags.
struct SharedState {
  std::vector<std::byte*> bases;  ///< three per rank, by program::Buffer
  std::byte* slots = nullptr;
  std::vector<Counter> tails;  ///< by connection
  std::vector<Counter> heads;
  std::vector<Message> messages;  ///< depth per connection
  std::vector<Counter> flags;     ///< by block
};

/// Runs threadblocks as resumable tasks on workers. A task that cannot continue is parked and costs nothing; the task
/// that makes its condition true puts it into the queue of the worker that its next data belongs to. Data belongs to
/// workers by its place in the collective, the same place on all ranks to the same worker: so what a schedule moves
/// from rank to rank stays in one core's cache, or near one node's memory. Idle workers take from others, then sleep.
///
/// Where operations are small, handing them about would cost more than they do: then the worker that wakes a task keeps
/// it on its own stack, and gives away half of that when another worker looks for work.
///
/// Queued tasks and workers that run something (or have it on their stack) are counted. Only a worker that is counted
/// wakes tasks, so at zero either all have ended or nothing can ever move again, which is known at once.
class Scheduler {
public:
  Scheduler(const Plan& plan, const Script& script, SharedState& state, DataType type, const Geometry& geometry,
            bool streams, const std::atomic<bool>& isAborted);

  /// Whether all operations are small.
  [[nodiscard]] bool isFine() const { return m_isFine; }

  /// Before workers start.
  void begin(const RunRequest& request, int workers);
  /// Body of a worker; returns when the run is over.
  void work(int worker);
  /// After all workers have returned. @param seconds gets one entry per finished iteration
  [[nodiscard]] std::optional<RunFailure> finish(std::vector<double>& seconds);
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped);

private:
  using Clock = std::chrono::steady_clock;

  struct alignas(64) Worker {
    std::mutex mutex;
    std::deque<int> queue;  ///< own end: back
    std::atomic<int> queued = 0;
    std::atomic<bool> isAsleep = false;
    std::condition_variable awakes;  ///< with Scheduler::m_restMutex
    // The rest is the worker's alone.
    std::vector<int> stack;
    bool isActive = false;    ///< counted in m_live
    int done = 0;             ///< blocks that reached their end here, in this iteration
    std::vector<int> parcel;  ///< for this worker, while an iteration starts
    std::vector<program::TraceEvent> trace;
    std::int64_t dropped = 0;
  };
  struct alignas(64) Block {
    Cursor cursor;
    std::atomic<std::uint8_t> parked = 0;  ///< the Wait, 0 = not parked
  };
  template <bool kIsAlone>
  class Host;

  void startIteration(int worker);
  template <bool kIsAlone>
  void workAs(int worker);
  void sendParcels(int worker);
  void endOfActivity(int worker);
  template <bool kIsAlone>
  void runTask(int worker, int task, bool isOwn);
  template <bool kIsAlone>
  void runBlock(int worker, int block, bool isOwn);
  /// @return whether the block may continue at once
  template <bool kIsAlone>
  bool park(int worker, int block, Wait wait);
  template <bool kIsAlone>
  void wake(int worker, int block, Wait wait);
  /// By a worker that is counted.
  void schedule(int worker, int block);
  void share(int worker);
  void push(int worker, const int* tasks, std::size_t count);
  int takeOwn(int worker);
  int takeOther(int worker);
  void activate(Worker& worker, int tasks);
  void rest(int worker);
  void rouse(int worker);
  /// The worker that an operation's data belongs to; -1 = it may run anywhere.
  [[nodiscard]] int homeOf(const Op& op, std::int64_t tile) const;
  [[nodiscard]] int homeOf(int block, int otherwise) const;
  void endRun();

  const Plan& m_plan;
  const Script& m_script;
  SharedState& m_state;
  const Geometry& m_geometry;
  RunView m_view;
  RunRequest m_request;
  std::vector<std::vector<int>> m_dependents;  ///< by block: those of its rank that wait for its flag
  std::vector<Block> m_blocks;
  std::vector<std::unique_ptr<Worker>> m_workers;
  int m_active = 1;
  std::int64_t m_lanes = 1;
  std::int64_t m_workersPerLane = 1;
  bool m_isFine = false;    ///< all operations are small
  bool m_keepsOwn = false;  ///< woken tasks stay with who woke them
  bool m_dividing = false;  ///< the tasks are the final divisions of avg
  Clock::time_point m_origin;
  Clock::time_point m_iterationStart;
  std::vector<double> m_seconds;
  std::optional<program::StuckRecord> m_stuck;

  alignas(64) std::atomic<int> m_live = 0;  ///< tasks in queues, and workers that are active
  alignas(64) std::atomic<int> m_queued = 0;
  alignas(64) std::atomic<int> m_hungry = 0;  ///< workers that look for work, or sleep
  std::atomic<int> m_sleepers = 0;
  std::atomic<bool> m_isOver = false;
  const std::atomic<bool>& m_isAborted;
  std::mutex m_restMutex;
};

}  // namespace coppice::executor
