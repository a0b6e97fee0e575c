// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/step_place.hpp"
#include "verify/deadlock_ring.hpp"
#include "verify/program_verifier.hpp"

/// The symbolic execution of the verifier, kept: what every buffer holds after every step.
namespace coppice::verify {

/// One message, or one step that exchanges none.
struct ReplayEvent {
  program::StepPlace place = {};
  std::uint32_t round = 0;  ///< longest chain of waits before it; what is in one round can happen at once
  int firstChunk = 0;       ///< within the step
  int chunks = 0;
  bool isLast = false;  ///< of its step
};

/// What one chunk of a buffer holds.
struct SlotContent {
  enum class Kind {
    nothing,
    one,    ///< a chunk of one rank
    sum,    ///< of one chunk over several ranks
    flawed  ///< twice the same, a mixture, or data that was never written
  };
  Kind kind = Kind::nothing;
  int chunk = -1;                          ///< one and sum: of the rank's input
  std::vector<int> ranks = {};             ///< one and sum: whose
  std::string text = {};                   ///< "the sum of chunk 3 over ranks 0, 1"
  std::optional<std::size_t> writer = {};  ///< index into events(); absent = the caller, or none
  std::string wanted = {};                 ///< what the collective demands there in the end; empty = nothing
  bool isFinal = false;                    ///< holds what is wanted
};

/// The step where a result goes wrong.
struct WrongStep {
  std::optional<program::StepPlace> place = {};  ///< absent: the chunk is never written
  std::string text = {};                         ///< what it does wrong; follows its name in a sentence
  int rank = 0;                                  ///< whose output is wrong in the end
  int chunk = 0;                                 ///< o[chunk]
  std::string wanted = {};
  std::string holds = {};
  std::size_t wrongChunks = 0;  ///< of all ranks
};

class ProgramReplay {
public:
  /// Plays the program until it ends or stops in a deadlock. Events are in the order of their rounds.
  /// Errors: verification (it cannot be executed: verifyProgram says why), limit, cancelled, overflow.
  [[nodiscard]] static Result<std::shared_ptr<const ProgramReplay>> play(const program::Program& program,
                                                                         const ProgramCheckOptions& options,
                                                                         bool inPlace, const Progress& progress = {});
  ~ProgramReplay();
  ProgramReplay(const ProgramReplay&) = delete;
  ProgramReplay& operator=(const ProgramReplay&) = delete;

  [[nodiscard]] bool inPlace() const;
  /// Each threadblock waits for the next, the last for the first; empty: the program ends.
  [[nodiscard]] const std::vector<RingStep>& ring() const;
  /// The connection depth that would free the ring, or that none does.
  [[nodiscard]] const std::string& remedy() const;
  [[nodiscard]] const std::vector<ReplayEvent>& events() const;
  /// How many events have happened when the step is done; nullopt: it never is.
  [[nodiscard]] std::optional<std::size_t> positionAfter(const program::StepPlace& place) const;
  /// Chunks of a buffer. In place, input and output share memory.
  [[nodiscard]] int size(int rank, program::Buffer buffer) const;
  /// After the first `position` events.
  [[nodiscard]] std::vector<SlotContent> contents(int rank, program::Buffer buffer, std::size_t position) const;
  /// nullopt: the result is right, not defined, or not reached.
  [[nodiscard]] const std::optional<WrongStep>& firstWrong() const;

private:
  struct State;
  explicit ProgramReplay(std::unique_ptr<State> state);
  std::unique_ptr<State> m;
};

}  // namespace coppice::verify
