// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace coppice::forestcoll {

struct StageSeconds {
  std::string stage;
  double seconds = 0;
};

/// Adds up the time of stages that follow each other.
class StageClock {
public:
  explicit StageClock(std::vector<StageSeconds>& seconds) : m_seconds(seconds) {}

  /// The time since the last call belongs to this stage.
  void done(const char* stage);

private:
  std::vector<StageSeconds>& m_seconds;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

}  // namespace coppice::forestcoll
