// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace coppice::executor {

/// Threads that sleep until there is work for all of them. The caller of run is worker 0.
class WorkerPool {
public:
  explicit WorkerPool(int workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(m_threads.size()) + 1; }
  /// Calls work(0) … work(active-1), each on its own thread, and returns when all have returned. Not reentrant; work
  /// must not throw.
  void run(int active, const std::function<void(int)>& work);

private:
  void serve(int worker);
  void quit();

  std::mutex m_mutex;
  std::condition_variable m_start;
  std::condition_variable m_end;
  const std::function<void(int)>* m_work = nullptr;
  std::uint64_t m_round = 0;
  int m_active = 0;
  int m_busy = 0;
  bool m_quits = false;
  std::vector<std::thread> m_threads;
};

}  // namespace coppice::executor
