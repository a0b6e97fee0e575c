// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "verify/schedule_verifier.hpp"

namespace coppice::test {

/// What the verifier finds, a line for each; empty for a sound schedule. Its own maximum flow runs up to maxFlowGpus.
inline std::string faultsOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule, int maxFlowGpus = 128) {
  const auto verdict = verify::verifySchedule(fabric, schedule, {.maxFlow = fabric.gpuCount() <= maxFlowGpus});
  if (!verdict) {
    return describe(verdict.error());
  }
  std::string text;
  for (const Finding& finding : verdict->findings) {
    text += describe(finding) + '\n';
  }
  return verdict->ok ? std::string() : text + "not ok";
}

}  // namespace coppice::test
