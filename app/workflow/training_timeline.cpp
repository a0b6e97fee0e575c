// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_timeline.hpp"

#include <algorithm>
#include <array>
#include <ostream>

#include "base/formatted.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_job.hpp"

namespace coppice::workflow {
namespace {

using training::StepEvent;
using training::StepTimeline;

constexpr double kMilli = 1e6;
constexpr double kMicro = 1e3;

}  // namespace

std::vector<ExposedPart> exposedParts(const StepTimeline& timeline) {
  std::vector<ExposedPart> parts;
  for (std::size_t axis = 0; axis < timeline.exposed.size(); ++axis) {
    if (timeline.exposed[axis] > 0) {
      parts.push_back({training::kParallelWords[axis], timeline.nanoseconds(timeline.exposed[axis]) / kMilli});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const ExposedPart& a, const ExposedPart& b) { return a.milliseconds > b.milliseconds; });
  return parts;
}

std::string timelineWords(const StepTimeline& timeline) {
  std::string text = "with this overlap " + stepTime(timeline.nanoseconds(timeline.length)) + ", ";
  const std::vector<ExposedPart> parts = exposedParts(timeline);
  if (parts.empty()) {
    return text + "no communication exposed";
  }
  for (const ExposedPart& part : parts) {
    const bool isFirst = &part == &parts.front();
    text += (isFirst ? "exposed " : ", ") + stepTime(part.milliseconds * kMilli) + " of " + part.word;
  }
  return text;
}

std::string eventWords(const StepTimeline& timeline, const StepEvent& event) {
  const std::string node = event.node >= 0 ? timeline.names[static_cast<std::size_t>(event.node)] : std::string();
  switch (event.kind) {
    case StepEvent::Kind::compute:
      return event.node >= 0 ? node : "embedding and output";
    case StepEvent::Kind::bubble:
      return "bubble";
    case StepEvent::Kind::communication:
      break;
  }
  if (event.axis == training::kPipeline) {
    return "send";
  }
  const std::string collective(toString(collectiveOf(event.conversion)));
  return collective + (event.node >= 0 ? " for " + node : " of gradients");
}

std::size_t rowOf(const StepEvent& event) {
  return event.kind == StepEvent::Kind::communication ? static_cast<std::size_t>(event.axis) + 1 : 0;
}

std::string rowName(std::size_t row) {
  return row == 0 ? "computation" : training::kParallelWords[row - 1];
}

void writeStepTrace(const StepTimeline& timeline, std::ostream& out) {
  std::array<bool, training::kParallelAxes + 1> isUsed{true};
  for (const StepEvent& event : timeline.events) {
    isUsed[rowOf(event)] = true;
  }
  out << R"({"displayTimeUnit":"ms","traceEvents":[)"
      << "\n"
      << R"({"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"one GPU of the first stage"}})";
  for (std::size_t row = 0; row < isUsed.size(); ++row) {
    if (isUsed[row]) {
      out << ",\n"
          << R"({"name":"thread_name","ph":"M","pid":0,"tid":)" << row << R"(,"args":{"name":")" << rowName(row)
          << R"("}})";
    }
  }
  for (const StepEvent& event : timeline.events) {
    out << ",\n"
        << R"({"name":")" << eventWords(timeline, event) << R"(","ph":"X","pid":0,"tid":)" << rowOf(event)
        << formatted(R"(,"ts":%.6f,"dur":%.6f,"args":{"pass":"%s","layer":%d,"micro_batch":%d}})",
                     timeline.nanoseconds(event.begin) / kMicro, timeline.nanoseconds(event.end - event.begin) / kMicro,
                     event.isBackward ? "backward" : "forward", event.layer, event.microBatch);
  }
  out << "\n]}\n";
}

}  // namespace coppice::workflow
