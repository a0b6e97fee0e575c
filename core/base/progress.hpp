// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "base/work.hpp"

namespace coppice {

/// How long work tells its caller where it is and hears that it should stop. Copyable and cheap; default = silent.
/// The callback runs on the working thread; it must not throw.
struct Progress {
  /// stage: a stable word ("optimum", "splitting", "packing", "verifying"); fraction in [0, 1] within the stage.
  std::function<void(std::string_view stage, double fraction)> onReport = {};
  std::stop_token stop = {};
  /// Absent = no limit but time.
  std::shared_ptr<WorkMeter> work = {};

  void report(std::string_view stage, double fraction) const {
    if (onReport) {
      onReport(stage, fraction);
    }
  }
  /// Throws WorkLimitReached.
  void spend(std::uint64_t steps) const {
    if (work) {
      work->spend(steps);
    }
  }
  [[nodiscard]] bool isCancelled() const { return stop.stop_requested(); }
};

/// Thrown inside core to unwind cancelled work; every public entry turns it into ErrorCode::cancelled.
struct CancelledError {};

inline void throwIfCancelled(const Progress& progress) {
  if (progress.isCancelled()) {
    throw CancelledError{};
  }
}

}  // namespace coppice
