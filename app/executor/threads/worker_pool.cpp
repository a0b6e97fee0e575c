// SPDX-License-Identifier: Apache-2.0
#include "threads/worker_pool.hpp"

#include <algorithm>

namespace coppice::executor {

WorkerPool::WorkerPool(int workers) {
  try {
    for (int worker = 1; worker < workers; ++worker) {
      m_threads.emplace_back([this, worker] { serve(worker); });
    }
  } catch (...) {
    quit();  // those that were granted
    throw;
  }
}

WorkerPool::~WorkerPool() {
  quit();
}

void WorkerPool::quit() {
  {
    const std::lock_guard lock(m_mutex);
    m_quits = true;
  }
  m_start.notify_all();
  for (std::thread& thread : m_threads) {
    thread.join();
  }
}

void WorkerPool::run(int active, const std::function<void(int)>& work) {
  const int others = std::clamp(active, 1, size()) - 1;
  if (others > 0) {
    {
      const std::lock_guard lock(m_mutex);
      m_work = &work;
      m_active = others;
      m_busy = others;
      ++m_round;
    }
    m_start.notify_all();
  }
  work(0);
  if (others > 0) {
    std::unique_lock lock(m_mutex);
    m_end.wait(lock, [this] { return m_busy == 0; });
  }
}

void WorkerPool::serve(int worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(m_mutex);
  while (true) {
    m_start.wait(lock, [&] { return m_quits || m_round != seen; });
    if (m_quits) {
      return;
    }
    seen = m_round;
    if (worker > m_active) {
      continue;
    }
    const std::function<void(int)>& work = *m_work;
    lock.unlock();
    work(worker);
    lock.lock();
    if (--m_busy == 0) {
      m_end.notify_one();
    }
  }
}

}  // namespace coppice::executor
