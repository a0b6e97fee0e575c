// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "sketch/model.hpp"
#include "sketch/plan.hpp"
#include "taccl/stages.hpp"

/// TACCL (Shah et al., NSDI 2023): schedules within a communication sketch, by search or by the paper's three stages.
namespace coppice::taccl {

enum class Engine {
  search,
  stages  ///< needs the program cbc
};

struct SynthesisOptions {
  Engine engine = Engine::search;
  double seconds = 60;  ///< of an allreduce half of it for the reduce_scatter, what is left for the allgather
  std::optional<std::int64_t> effort;  ///< schedules to try; the result then depends on it and the seed alone
  std::uint64_t seed = 1;
  int threads = 0;           ///< 0 = all cores
  bool usesSymmetry = true;  ///< the sketch's offsets, where they are symmetries
  /// Called with each better makespan and the bound, in the unit of the topology file.
  std::function<void(const Rational& makespan, const Rational& bound, double seconds)> onBetter = {};
};

struct Synthesis {
  sketch::Plan plan;
  std::int64_t decodes = 0;
  std::vector<StageReport> stages;  ///< of that engine
  double seconds = 0;
  bool dependsOnTime = false;  ///< a limit of time took part in the search: another machine may find another plan
  double secondsToMakespan = 0;
  std::vector<Finding> findings;  ///< offsets that are not symmetries
};

/// The best plan that the engine finds, unverified (verify::checkPlan). Cancelling keeps the best so far.
/// @param root of a rooted collective. Errors: badUsage, infeasible naming chunk and GPU, limit, overflow; of the
/// stages also unavailable (no cbc), io. Cancelled before there is a schedule: cancelled.
Result<Synthesis> synthesize(const sketch::Model& model, Collective collective, int root,
                             const SynthesisOptions& options = {}, const Progress& progress = {});

}  // namespace coppice::taccl
