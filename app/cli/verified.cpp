// SPDX-License-Identifier: Apache-2.0
#include "verified.hpp"

#include <algorithm>

namespace coppice::cli {
namespace {

/// Up to here one max flow per GPU costs less than a second in all.
constexpr int kMaxFlowGpus = 256;

}  // namespace

Result<verify::ScheduleVerdict> requireVerified(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                const Progress& progress) {
  auto verdict = verify::verifySchedule(fabric, schedule, {.maxFlow = needsMaxFlow(fabric, schedule)}, progress);
  if (verdict && !verdict->ok) {
    const Finding* fault = firstFault(verdict->findings);
    return Error{ErrorCode::verification,
                 "the schedule did not pass the verifier" + (fault == nullptr ? "" : ": " + fault->text),
                 "nothing was written; please report this fabric", fault == nullptr ? Place{} : fault->where};
  }
  return verdict;
}

bool needsMaxFlow(const fabric::Fabric& fabric, const schedule::Schedule& schedule) {
  const bool treesProveBound = schedule.algbw == schedule.bound && !schedule.bottlenecks.empty();
  return fabric.gpuCount() <= kMaxFlowGpus || !treesProveBound;
}

const Finding* firstFault(const std::vector<Finding>& findings) {
  const auto fault = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.severity == Severity::error; });
  if (fault != findings.end()) {
    return &*fault;
  }
  return findings.empty() ? nullptr : &findings.front();
}

}  // namespace coppice::cli
