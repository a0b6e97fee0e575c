// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/progress.hpp"

namespace coppice::designer {

/// Where a job on another thread is: written there, read by the widget that shows it.
class JobProgress {
public:
  struct State {
    std::string stage;
    double fraction = 0;  ///< within the stage, 0 to 1
  };

  [[nodiscard]] State state() const {
    const std::lock_guard lock(m_mutex);
    return m_state;
  }
  void set(std::string_view stage, double fraction) {
    const std::lock_guard lock(m_mutex);
    m_state.stage = stage;
    m_state.fraction = fraction;
  }
  /// What core is given; it keeps `shared` alive.
  [[nodiscard]] static Progress forCore(const std::shared_ptr<JobProgress>& shared, std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    progress.onReport = [shared](std::string_view stage, double fraction) { shared->set(stage, fraction); };
    return progress;
  }

private:
  mutable std::mutex m_mutex;
  State m_state;
};

/// "Packing trees" for core's "packing"; words it does not know come back as they are.
[[nodiscard]] QString stageName(const std::string& stage);

}  // namespace coppice::designer
