// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/counted.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// How numbers, cuts and findings read, for people and in JSON.
namespace coppice::cli {

/// "1040/3 = 346.67 GB/s"; "325 GB/s" for an integer.
[[nodiscard]] std::string gigabytes(const Bandwidth& value);
/// "0.35 ms", "2.41 s".
[[nodiscard]] std::string duration(double seconds);
/// A fabric's name for people, on one line.
[[nodiscard]] std::string named(const std::string& name);

/// "88.04 %" of the whole, rounded.
[[nodiscard]] std::string percent(const Rational& share);

/// nccl-tests' bus bandwidth of an algorithmic bandwidth: algbw (n-1)/n for allgather and reduce_scatter, twice that
/// for allreduce, algbw itself for broadcast and reduce.
[[nodiscard]] Bandwidth busbw(Collective collective, const Bandwidth& algbw, int ranks);

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
