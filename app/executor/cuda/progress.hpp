// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/device_plan.hpp"
#include "cuda/wiring.hpp"
#include "engine/script.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

/// What the progress words of the blocks mean. Needs no GPU.
namespace coppice::executor::cuda {

[[nodiscard]] inline BlockState stateOf(Word progress) {
  return static_cast<BlockState>(progress & 0xFFU);
}
[[nodiscard]] inline unsigned stepOf(Word progress) {
  return static_cast<unsigned>(progress >> 8U) & 0xFFFFU;
}
[[nodiscard]] inline std::int64_t tileOf(Word progress) {
  return static_cast<std::int64_t>(progress >> 24U);
}
[[nodiscard]] inline bool isWaiting(BlockState state) {
  return state == BlockState::waitsForData || state == BlockState::waitsForSpace || state == BlockState::waitsForFlag;
}

/// By device, as Grid::views.
using ProgressWords = std::vector<std::vector<Word>>;

/// Judges a run by looking at its progress words again and again.
class StallWatch {
public:
  enum class Verdict { moves, deadlock, stall };

  /// @param stallSeconds without any change; 0 = for ever
  /// @param deadlockSeconds in which all blocks wait and none changes. Blocks that can go on see so within
  /// microseconds, because all are resident; so if none does for so long, none ever will.
  StallWatch(double stallSeconds, double deadlockSeconds)
      : m_stallSeconds(stallSeconds), m_deadlockSeconds(deadlockSeconds) {}

  /// @param now seconds of a steady clock
  Verdict look(const ProgressWords& words, double now);

private:
  double m_stallSeconds;
  double m_deadlockSeconds;
  ProgressWords m_last;
  double m_since = 0;
};

/// Names who waits for whom in a strand that has not ended.
/// @param progress by device, as Grid::views
[[nodiscard]] program::StuckRecord explain(const Plan& plan, const Script& script, const std::vector<Grid>& grids,
                                           const ProgressWords& progress, bool isDeadlock);

}  // namespace coppice::executor::cuda
