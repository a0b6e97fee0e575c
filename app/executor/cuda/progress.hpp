// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
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

/// By device of the process, as Grid::views.
using ProgressWords = std::vector<std::vector<Word>>;

/// The same by threadblock of the plan, strand after strand: also what processes tell each other. 0 = not known.
class StrandWords {
public:
  StrandWords(std::size_t strands, std::size_t blocks) : m_blocks(blocks), m_words(strands * blocks, 0) {}

  void add(const Grid& grid, const std::vector<Word>& words);
  /// Known words as bytes, and those of another process.
  [[nodiscard]] std::string text() const;
  void add(std::string_view text);
  [[nodiscard]] std::size_t strands() const { return m_blocks == 0 ? 0 : m_words.size() / m_blocks; }
  [[nodiscard]] Word at(std::size_t strand, std::size_t block) const { return m_words[strand * m_blocks + block]; }

private:
  std::size_t m_blocks;
  std::vector<Word> m_words;
};

/// Judges a run by looking at its progress words again and again.
class StallWatch {
public:
  enum class Verdict { moves, deadlock, stall };

  /// @param stallSeconds without any change; 0 = forever
  /// @param deadlockSeconds in which all blocks wait and none changes. Blocks that can continue see so within
  /// microseconds, because all are resident; so if none does for so long, none ever will.
  StallWatch(double stallSeconds, double deadlockSeconds)
      : m_stallSeconds(stallSeconds), m_deadlockSeconds(deadlockSeconds) {}

  /// @param now seconds of a steady clock
  Verdict look(const ProgressWords& words, double now);
  /// How often the words differed from the look before.
  [[nodiscard]] std::uint64_t changes() const { return m_changes; }

private:
  double m_stallSeconds;
  double m_deadlockSeconds;
  ProgressWords m_last;
  double m_since = 0;
  std::uint64_t m_changes = 0;
};

/// Blocks that wait.
[[nodiscard]] std::int64_t countWaiting(const ProgressWords& words);

/// Names what waits for what in a strand that has not ended.
[[nodiscard]] program::StuckRecord explain(const Plan& plan, const Script& script, const StrandWords& words,
                                           bool isDeadlock);

}  // namespace coppice::executor::cuda
