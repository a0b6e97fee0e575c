// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/repair/repair.hpp"
#include "io/origin.hpp"
#include "live/failures.hpp"
#include "schedule/forest.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/method.hpp"

/// The failure drill: what remains after each failure, and the schedule repaired for it.
namespace coppice::workflow {

/// The schedule in use, verified.
struct DrillBase {
  LoadedFabric loaded;
  schedule::Schedule schedule;
  io::Origin origin = {};  ///< of the schedule, and of what it is repaired to
};

/// A schedule for a drill: of trees, from switches that only forward, an allreduce as its two halves one after the
/// other. Errors: badUsage (a collective without such trees), those of forestcoll::generate, verification.
[[nodiscard]] Result<DrillBase> makeDrillBase(LoadedFabric loaded, const Demand& demand, const Progress& progress);
/// The schedule that a `.forest.json` holds; nullopt where the source is no such file. Errors: as loadFabric, badUsage
/// (steps, trees that cannot be repaired), verification.
[[nodiscard]] Result<std::optional<DrillBase>> loadDrillBase(const FabricSource& source, const Progress& progress);

/// What fails.
struct DrillSelection {
  std::set<live::Part> parts;  ///< single ones
  std::string group = {};      ///< "leaf", "rail" or a file of groups in place of single parts; empty = none
  bool pairs = false;          ///< two of the parts at once, one pair of each class
  bool everyPart = false;      ///< every single part, not one of each class
};

/// By failure how people and files call it: "nic b0n3", "link b0g0 - b0nvs"; each once, equal ones with " (2)" and so
/// on.
[[nodiscard]] std::vector<std::string> partNames(const std::vector<live::PartFailure>& failures);
/// The fabric without single parts of these names. Errors: badUsage (there is no such part).
[[nodiscard]] Result<fabric::Description> withoutParts(const fabric::Description& description,
                                                       const std::vector<std::string>& names);

struct DrillCase {
  live::PartFailure failure;
  std::size_t first = 0;  ///< case that stands for its class
  std::size_t alike = 1;  ///< failures of its class
};
/// In the order of live::singleFailures. Where there are several of a class, one is named and the others are counted,
/// or with everyPart each is a case. Errors: io, badInput and badUsage of groups; cancelled, overflow.
[[nodiscard]] Result<std::vector<DrillCase>> drillCases(const DrillBase& base, const DrillSelection& selection,
                                                        const Progress& progress);

struct DrillAnswer {
  fabric::Description description;               ///< of the damaged fabric
  std::optional<fabric::Fabric> fabric;          ///< absent where it is none
  std::optional<Error> impossible;               ///< why no schedule is left
  std::optional<forestcoll::Repaired> repaired;  ///< verified on the damaged fabric
};
/// Errors: those of forestcoll::repaired but for infeasible, verification.
[[nodiscard]] Result<DrillAnswer> drill(const DrillBase& base, const live::PartFailure& failure,
                                        const forestcoll::RepairOptions& options, const Progress& progress);

/// Calls use(case, answer) for all cases, on up to all cores, in any order. Errors: those of drill and of `use`.
[[nodiscard]] Outcome drillAll(const DrillBase& base, const std::vector<DrillCase>& cases,
                               const forestcoll::RepairOptions& options,
                               const std::function<Outcome(std::size_t, const DrillAnswer&)>& use,
                               const Progress& progress);

}  // namespace coppice::workflow
