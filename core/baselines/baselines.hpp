// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

/// What people run today, as schedules that are verified, simulated and exported like any other.
namespace coppice::baselines {

struct Baseline {
  std::string_view name;   ///< "multi-ring"
  std::string_view title;  ///< "Multi-ring"
  std::string_view about;  ///< one sentence
  std::vector<Collective> collectives;
  bool isForest = false;  ///< made of trees that meet in capable switches, not of steps
};

/// All, in the order in which they are listed.
[[nodiscard]] std::span<const Baseline> list();
[[nodiscard]] const Baseline* find(std::string_view name);

struct Request {
  Collective collective = Collective::allgather;
  std::optional<fabric::Rank> root = {};  ///< broadcast, reduce, gather, scatter
};

/// Routes are the shortest ones, or run through the NICs that a ring is given. Not verified here. Where the halves of
/// an allreduce overlap, its bound is 0, that is not known, and it has no cuts. Errors: badUsage (unknown name; a
/// collective that the baseline does not have; a root that is missing or not used), infeasible (the fabric lacks what
/// the baseline needs: a power of two of GPUs, equal boxes, capable switches, direct links), overflow, cancelled.
Result<schedule::AnySchedule> generate(std::string_view name, const fabric::Fabric& fabric, const Request& request,
                                       const Progress& progress = {});

}  // namespace coppice::baselines
