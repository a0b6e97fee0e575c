// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "simulate/job.hpp"

namespace coppice::simulate {

/// One of several jobs that run at the same time, on its part of a fabric.
struct JobPart {
  const Job* job = nullptr;
  std::vector<fabric::NodeIndex> nodes;  ///< by node of its fabric: the same node of the whole one
  double bytes = 1;                      ///< relative to those of a job of 1
};

struct JoinedJobs {
  Job job;
  std::vector<MessageId> first;  ///< by part: its first message; the end of the last one
};

/// All of them as one job, whose messages share the links of the whole fabric. Every route starts at the message's
/// sender and leads to its receiver. Errors: badInput (a link that the whole fabric does not have; a route that skips
/// links, where a switch copies or sums).
[[nodiscard]] Result<JoinedJobs> joined(const fabric::Fabric& fabric, const Model& model,
                                        std::span<const JobPart> parts);

}  // namespace coppice::simulate
