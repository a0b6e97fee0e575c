// SPDX-License-Identifier: Apache-2.0
#include "cuda/progress.hpp"

#include <algorithm>
#include <cstring>

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
  const ScriptBlock& range = script.blocks[block];
  std::int32_t op = range.firstOp;
  while (op + 1 < range.endOp && script.ops[op].number < static_cast<std::int32_t>(step)) {
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
    ++m_changes;
    return Verdict::moves;
  }
  if (allWait(words) && now - m_since >= m_deadlockSeconds) {
    return Verdict::deadlock;
  }
  return m_stallSeconds > 0 && now - m_since >= m_stallSeconds ? Verdict::stall : Verdict::moves;
}

std::int64_t countWaiting(const ProgressWords& words) {
  std::int64_t count = 0;
  for (const auto& device : words) {
    count += std::count_if(device.begin(), device.end(), [](Word word) { return isWaiting(stateOf(word)); });
  }
  return count;
}

void StrandWords::add(const Grid& grid, const std::vector<Word>& words) {
  for (std::size_t view = 0; view < words.size(); ++view) {
    const std::size_t strand = view / grid.blocks.size();
    m_words[strand * m_blocks + static_cast<std::size_t>(grid.blocks[view % grid.blocks.size()])] = words[view];
  }
}

std::string StrandWords::text() const {
  std::string text;
  for (std::uint64_t index = 0; index < m_words.size(); ++index) {
    if (m_words[index] != 0) {
      text.append(reinterpret_cast<const char*>(&index), sizeof(index));
      text.append(reinterpret_cast<const char*>(&m_words[index]), sizeof(Word));
    }
  }
  return text;
}

void StrandWords::add(std::string_view text) {
  std::uint64_t index = 0;
  for (; text.size() >= sizeof(index) + sizeof(Word); text.remove_prefix(sizeof(index) + sizeof(Word))) {
    std::memcpy(&index, text.data(), sizeof(index));
    if (index < m_words.size()) {
      std::memcpy(&m_words[index], text.data() + sizeof(index), sizeof(Word));
    }
  }
}

program::StuckRecord explain(const Plan& plan, const Script& script, const StrandWords& words, bool isDeadlock) {
  std::vector<Position> positions(plan.blocks.size());
  for (std::size_t strand = 0; strand < words.strands(); ++strand) {
    bool someWait = false;
    for (std::size_t block = 0; block < positions.size(); ++block) {
      const Word word = words.at(strand, block);
      positions[block] = {.wait = waitOf(stateOf(word)),
                          .tile = tileOf(word),
                          .op = opOf(script, static_cast<int>(block), stepOf(word))};
      someWait = someWait || isWaiting(stateOf(word));
    }
    if (someWait) {
      break;
    }
  }
  return explainStuck(plan, script, positions, isDeadlock);
}

}  // namespace coppice::executor::cuda
