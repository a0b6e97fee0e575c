// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/counted.hpp"
#include "base/rational.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/step_cost.hpp"
#include "workflow/judged_schedule.hpp"

/// What there is to say of a schedule, once for programs (JSON) and for people (text).
namespace coppice::workflow {

/// Keys in the order in which they are set.
using Json = nlohmann::ordered_json;

struct Fact {
  std::string key = {};    ///< in JSON; empty = only in text
  Json value = {};         ///< of the key
  std::string label = {};  ///< "throughput"; empty = the text goes on from the line before
  std::string text = {};   ///< one line; empty = only in JSON
  std::string full = {};   ///< where all is asked for, in place of `text`; empty = that
};
using Facts = std::vector<Fact>;

/// Facts of `more` behind those of `facts`.
void append(Facts& facts, Facts more);
/// For JSON alone.
[[nodiscard]] Facts withoutText(Facts facts);

/// algbw and busbw, both as fractions and in GB/s. The text has one line, of this label.
[[nodiscard]] Facts throughputFacts(Collective collective, const Bandwidth& algbw, int gpus, std::string label);
/// The bound, the share of it that is reached, and which schedules it holds for.
[[nodiscard]] Facts boundFacts(const Bandwidth& algbw, const Bandwidth& bound, schedule::BoundScope scope);
/// Whether a limit of time took part in a search, as Made::dependsOnTime; a line of text where it did.
[[nodiscard]] Facts timeFacts(bool dependsOnTime);
/// The exact figures of a schedule of any kind: collective, algbw, busbw, t_b, steps, stretch, traffic, busiest links.
[[nodiscard]] Facts factsOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                            const Figures& figures);

// ---- how numbers read, for people

/// "1040/3 = 346.67 GB/s"; "325 GB/s" for an integer.
[[nodiscard]] std::string gigabytes(const Bandwidth& value);
/// "0.35 ms", "2.41 s".
[[nodiscard]] std::string duration(double seconds);
/// What an exchange takes: "36.41 ns", "469.08 µs", and from a millisecond on as above.
[[nodiscard]] std::string exchangeDuration(const Rational& nanoseconds);
/// A fabric's name, on one line.
[[nodiscard]] std::string named(const std::string& name);
/// "88.04 %" of the whole, rounded.
[[nodiscard]] std::string percent(const Rational& share);
/// nccl-tests' bus bandwidth of an algorithmic bandwidth: algbw (n-1)/n for allgather and reduce_scatter, twice that
/// for allreduce, algbw itself for broadcast and reduce.
[[nodiscard]] Bandwidth busbw(Collective collective, const Bandwidth& algbw, int ranks);

}  // namespace coppice::workflow
