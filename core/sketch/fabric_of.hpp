// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"
#include "sketch/model.hpp"
#include "sketch/plan.hpp"

namespace coppice::sketch {

/// What the files do not say: how long a unit of time is and how large a chunk.
struct Scale {
  ExactMicroseconds timeUnit = ExactMicroseconds(1);
  std::int64_t chunkBytes = 1 << 20;
};

/// As "coppice_time_unit_us" and "coppice_chunk_bytes" say. Else guessed from the costs between nodes, after those of
/// the official files: remote_alpha is 2.6 us there and remote_beta 105 us for each 2^20 bytes. Where there are none,
/// one microsecond and 2^20 bytes.
[[nodiscard]] Scale guessScale(const Topology& topology);

/// A model as a fabric, with the way that each link takes through it.
struct ModelFabric {
  fabric::Description description;
  std::vector<std::vector<std::string>> routes;  ///< by link: ids of nodes, both GPUs included
};

/// GPU r of the model is rank r. A link carries a chunk in beta; the GPUs of a switch have a switch node with the
/// bandwidth of their ports; with more than two nodes, each GPU has a NIC for what it sends to others and one for what
/// it receives. Latencies are the alphas. Errors: overflow.
Result<ModelFabric> fabricOf(const Model& model, const Scale& scale);

/// A plan as transfers without steps, in the order of their planned starts. `routes`: by link, nodes of the fabric.
/// Errors: badUsage (the fabric has other GPUs), those of schedule::stepCost.
Result<schedule::StepSchedule> stepScheduleOf(const Model& model, const Plan& plan, const fabric::Fabric& fabric,
                                              const std::vector<std::vector<fabric::NodeIndex>>& routes);
/// The same with the ids of nodes. Errors: badUsage naming an id that the fabric lacks.
Result<schedule::StepSchedule> stepScheduleOf(const Model& model, const Plan& plan, const fabric::Fabric& fabric,
                                              const std::vector<std::vector<std::string>>& routes);

}  // namespace coppice::sketch
