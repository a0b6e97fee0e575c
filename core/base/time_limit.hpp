// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/progress.hpp"

namespace coppice {

/// Stops work after a time, or when the caller stops.
class TimeLimit {
public:
  TimeLimit(const Progress& progress, double seconds)
      : m_forward(progress.stop, [this] { m_stop.request_stop(); }), m_timer([this, seconds](std::stop_token ended) {
          std::unique_lock lock(m_mutex);
          m_wake.wait_for(lock, ended, std::chrono::duration<double>(seconds), [] { return false; });
          if (!ended.stop_requested()) {
            m_stop.request_stop();
          }
        }) {}

  [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }

private:
  std::stop_source m_stop;
  std::stop_callback<std::function<void()>> m_forward;
  std::mutex m_mutex;
  std::condition_variable_any m_wake;
  std::jthread m_timer;
};

}  // namespace coppice
