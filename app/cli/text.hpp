// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/counted.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/forest.hpp"
#include "workflow/facts.hpp"

/// How numbers, cuts and findings read, for people and in JSON.
namespace coppice::cli {

using workflow::busbw;
using workflow::duration;
using workflow::gigabytes;
using workflow::named;
using workflow::percent;

/// A line that says which schedules a bound holds for; empty where no schedule is faster.
[[nodiscard]] std::string boundNote(schedule::BoundScope scope);

/// Which nodes: `15 of 16 GPUs (all but "b1g7"), 6 of 6 switches`.
[[nodiscard]] std::string nodeSet(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes);

/// What the cut says, in one sentence: who must send what through how much.
[[nodiscard]] std::string cutSentence(const fabric::Fabric& fabric, Collective collective, const schedule::Cut& cut,
                                      bool weighted);

[[nodiscard]] Json idsOf(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes);
/// "exit_bandwidth" is what crosses the cut in "direction": leaving S, or for reductions entering it.
[[nodiscard]] Json toJson(const fabric::Fabric& fabric, Collective collective, const schedule::Cut& cut);
[[nodiscard]] Json toJson(const Place& place);
[[nodiscard]] Json toJson(const Finding& finding);
[[nodiscard]] Json toJson(const std::vector<Finding>& findings);
/// One indented line each, at most `max` of them and then how many more there are.
[[nodiscard]] std::string lines(const std::vector<Finding>& findings, std::size_t max = 50);

}  // namespace coppice::cli
