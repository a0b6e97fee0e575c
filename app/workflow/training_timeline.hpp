// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "training/step_timeline.hpp"

/// The timeline of a training step in words, and for Perfetto.
namespace coppice::workflow {

struct ExposedPart {
  std::string word;  ///< as training::kParallelWords
  double milliseconds = 0;
};
/// Communication for which the computation waits, largest first; axes without any are missing.
[[nodiscard]] std::vector<ExposedPart> exposedParts(const training::StepTimeline& timeline);
/// "with this overlap 512.3 ms, exposed 3.104 ms of tp, 0.412 ms of dp".
[[nodiscard]] std::string timelineWords(const training::StepTimeline& timeline);

/// "w1 gradient", "q allgather"
[[nodiscard]] std::string eventWords(const training::StepTimeline& timeline, const training::StepEvent& event);
/// Place of an event's row: 0 = computation, then the axes.
[[nodiscard]] std::size_t rowOf(const training::StepEvent& event);
/// "computation", "tp", …
[[nodiscard]] std::string rowName(std::size_t row);

/// Complete events in the Trace Event Format of Chrome, which Perfetto opens: a row for the computation, one for each
/// axis.
void writeStepTrace(const training::StepTimeline& timeline, std::ostream& out);

}  // namespace coppice::workflow
