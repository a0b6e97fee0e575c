// SPDX-License-Identifier: Apache-2.0
#include "cuda/progress.hpp"

#include <algorithm>

#include "engine/stuck.hpp"

namespace coppice::executor::cuda {
namespace {

Wait waitOf(BlockState state) {
  switch (state) {
    case BlockState::waitsForData:
      return Wait::data;
    case BlockState::waitsForSpace:
      return Wait::space;
    case BlockState::waitsForFlag:
      return Wait::flag;
    case BlockState::done:
      return Wait::done;
    case BlockState::idle:
    case BlockState::runs:
    case BlockState::stopped:
      break;
  }
  return Wait::none;
}

/// The first operation of a step of a block.
std::int32_t opOf(const Script& script, int block, unsigned step) {
  const ScriptBlock& range = script.blocks[static_cast<std::size_t>(block)];
  std::int32_t op = range.firstOp;
  while (op + 1 < range.endOp && script.ops[static_cast<std::size_t>(op)].number < static_cast<std::int32_t>(step)) {
    ++op;
  }
  return op;
}

/// Every block waits or has ended, and some wait.
bool allWait(const ProgressWords& progress) {
  bool someWait = false;
  for (const auto& device : progress) {
    for (const Word word : device) {
      const BlockState state = stateOf(word);
      if (state != BlockState::done && !isWaiting(state)) {
        return false;
      }
      someWait = someWait || isWaiting(state);
    }
  }
  return someWait;
}

}  // namespace

StallWatch::Verdict StallWatch::look(const ProgressWords& words, double now) {
  if (words != m_last) {
    m_last = words;
    m_since = now;
    return Verdict::moves;
  }
  if (allWait(words) && now - m_since >= m_deadlockSeconds) {
    return Verdict::deadlock;
  }
  return m_stallSeconds > 0 && now - m_since >= m_stallSeconds ? Verdict::stall : Verdict::moves;
}

program::StuckRecord explain(const Plan& plan, const Script& script, const std::vector<Grid>& grids,
                             const ProgressWords& progress, bool isDeadlock) {
  std::size_t strands = 1;
  for (const Grid& grid : grids) {
    strands = std::max(strands, grid.blocks.empty() ? 1 : grid.views.size() / grid.blocks.size());
  }
  std::vector<Position> positions(plan.blocks.size());
  for (std::size_t strand = 0; strand < strands; ++strand) {
    bool someWait = false;
    for (std::size_t device = 0; device < grids.size(); ++device) {
      const Grid& grid = grids[device];
      for (std::size_t index = 0; index < grid.blocks.size(); ++index) {
        const Word word = progress[device][strand * grid.blocks.size() + index];
        const int block = grid.blocks[index];
        positions[static_cast<std::size_t>(block)] = {
            .wait = waitOf(stateOf(word)), .tile = tileOf(word), .op = opOf(script, block, stepOf(word))};
        someWait = someWait || isWaiting(stateOf(word));
      }
    }
    if (someWait) {
      break;
    }
  }
  return explainStuck(plan, script, positions, isDeadlock);
}

}  // namespace coppice::executor::cuda
