// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "base/progress.hpp"

namespace coppice::synth {

/// Notes whether a limit of time, not of counted work, has ended some part of a search: what is found may then differ
/// from one machine or run to the next. Copies share the note.
struct TimedProgress : Progress {
  TimedProgress() = default;
  TimedProgress(const Progress& progress) : Progress(progress) {}  // NOLINT(google-explicit-constructor)

  /// Whether the time is over.
  [[nodiscard]] bool isOver(std::chrono::steady_clock::time_point deadline) const {
    if (std::chrono::steady_clock::now() < deadline) {
      return false;
    }
    *m_dependsOnTime = true;
    return true;
  }
  void noteTime() const { *m_dependsOnTime = true; }
  [[nodiscard]] bool dependsOnTime() const { return *m_dependsOnTime; }

private:
  std::shared_ptr<std::atomic<bool>> m_dependsOnTime = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace coppice::synth
