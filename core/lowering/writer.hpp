// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lowering/lowering.hpp"
#include "lowering/plan.hpp"
#include "program/program.hpp"

/// Internal to core/lowering: steps with all that they wait for, and the instances side by side.
namespace coppice::lowering {

struct StepPlace {
  int block = -1;
  int step = -1;

  friend auto operator<=>(const StepPlace&, const StepPlace&) = default;
};

/// A received share that waits for being added, and the step after which it is there.
struct Addend {
  program::Slot slot = {};
  StepPlace place = {};
};

/// Appends steps to the threadblocks of one instance.
class ProgramWriter {
public:
  /// Threadblocks of the plan, and behind them those for copies.
  ProgramWriter(const Plan& plan, const std::vector<CopyNeed>& copies, const Options& options);

  [[nodiscard]] program::Program& program() { return m_program; }
  [[nodiscard]] program::Step& stepAt(int rank, StepPlace place) {
    return m_program.ranks[rank].threadBlocks[place.block].steps[place.step];
  }

  /// Waits for all of the places: the order of a threadblock's own steps, and what it has waited for before, need no
  /// further waiting. All waits but one take a nop.
  StepPlace append(int rank, int block, program::StepType type, program::Slot src, program::Slot dst, int count,
                   std::span<const StepPlace> after);

  /// Adds up shares of other threadblocks, and of this one: the first step waits for all, and for `before`, and the
  /// runtime makes one reduction of all steps. @return the last step, or none without addends
  StepPlace addUp(int rank, int block, const std::vector<Addend>& addends, program::Slot into, int count,
                  std::vector<StepPlace> before = {});

  /// Of the steps from now on; none at first.
  void setOrigin(const StepOrigin& origin) { m_origin = origin; }
  /// Of all steps, for that many instances side by side.
  [[nodiscard]] StepOrigins takeOrigins(int instances);

private:
  /// What one threadblock has waited for of another: the latest steps.
  struct Waited {
    int any = -1;
    int released = -1;  ///< with its writes to i and o written back
    int acquired = -1;  ///< and with these read again
  };
  [[nodiscard]] bool mustWait(int rank, int block, StepPlace place, bool acquires);

  const bool m_isRccl;
  program::Program m_program;
  StepOrigin m_origin;
  StepOrigins m_origins;
  std::vector<StepPlace> m_after;                          ///< of the step that is appended
  std::vector<std::vector<std::vector<Waited>>> m_waited;  ///< by rank, waiting block, other block
};

/// The instances side by side: each has its own threadblocks and channels, and a run of chunks of its own in every
/// slice of every buffer. @param slices of a buffer that holds all of them: the first chunk of each, and one more at
/// the end  @param scratch by rank: chunks taken
[[nodiscard]] program::Program sideBySide(program::Program single, const std::vector<int>& slices,
                                          const std::vector<int>& scratch, const Options& options);

}  // namespace coppice::lowering
