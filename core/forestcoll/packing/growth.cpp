// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/growth.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "forestcoll/boxes/star_routing.hpp"
#include "forestcoll/boxes/symmetric_forest.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/parts/decomposition.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "forestcoll/trimming.hpp"
#include "schedule/expansion.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

// Bytes of trees written out where the form is automatic; images of a few trees are written out to a lesser size, since
// they take a tenth of the time otherwise.
constexpr int64_t kMaxWrittenBytes = int64_t{512} << 20;
constexpr int64_t kMaxWrittenImages = int64_t{256} << 20;
constexpr std::size_t kThoroughGpus = 64;  // GPUs: up to here there is time to grow a forest in several ways

/// What makes one forest better than another: lower, then fewer different trees.
std::pair<int, std::size_t> rankOf(const schedule::Forest& forest) {
  return {schedule::maxHeight(forest), forest.trees.size()};
}

PackingOptions packingOptions(const GrowthOptions& options) {
  PackingOptions packing;
  packing.heightEffort = options.heightEffort;
  packing.maxHeight = options.maxHeight;
  return packing;
}

schedule::Forest growBy(const SplitOptions& split, const GrowthProblem& problem, const GrowthOptions& options,
                        const Progress& progress, StageClock& clock) {
  const LogicalTopology topology = removeSwitches(problem.network, problem.capacities, problem.supply, progress, split);
  clock.done("splitting");
  const LogicalProblem logical = logicalProblem(problem.network, topology, problem.supply);
  std::vector<PackedTree> packed = packTrees(logical.packing, progress, packingOptions(options));
  clock.done("packing");
  schedule::Forest forest = recoverPaths(topology, logical, std::move(packed), problem.scale, progress);
  clock.done("routes");
  return forest;
}

/// A forest of height 1, or nothing where the network has no room for it.
/// @param capacities before trimming: stars balance the switches by themselves
std::optional<schedule::Forest> growStarForest(const GrowthProblem& problem, const std::vector<TreeArc>& capacities,
                                               const Progress& progress) {
  auto stars = growStars(problem.network, capacities, problem.supply, progress);
  if (!stars) {
    return std::nullopt;
  }
  return recoverPaths(stars->topology, stars->logical, std::move(stars->trees), problem.scale, progress);
}

/// Boxes on a network where single GPUs are the bottleneck.
std::optional<schedule::Forest> growTwoLevels(const GrowthProblem& problem, const GrowthOptions& options,
                                              const Progress& progress, StageClock& clock) {
  if (options.maxHeight < 2) {
    return std::nullopt;
  }
  auto found = growTwoLevel(problem.network, problem.capacities, problem.supply, progress);
  clock.done("two levels");
  if (!found) {
    return std::nullopt;
  }
  schedule::Forest forest =
      recoverPaths(found->topology, found->logical, std::move(found->trees), problem.scale, progress);
  clock.done("routes");
  if (options.maxHeight < std::numeric_limits<int>::max() && schedule::maxHeight(forest) > options.maxHeight) {
    return std::nullopt;
  }
  return forest;
}

/// Beside a forest by parts: parts within parts add their heights up, and boxes on a network need no more than 3 hops.
std::optional<schedule::Forest> growBesideParts(const GrowthProblem& problem, const GrowthOptions& options,
                                                const Progress& progress, StageClock& clock) {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 27;
  constexpr int64_t kMaxEdges = int64_t{1} << 24;
  const auto gpus = static_cast<int64_t>(problem.network.gpus.size());
  if (options.heightEffort == 0 || options.form == schedule::ForestForm::parts ||
      treeCount(problem.network, problem.supply) * gpus > kMaxEdges) {
    return std::nullopt;
  }
  Progress limited = progress;
  limited.work = std::make_shared<WorkMeter>(kMaxWork);
  try {
    return growTwoLevels(problem, options, limited, clock);
  } catch (const WorkLimitReached&) {
    return std::nullopt;
  }
}

/// Small fabrics can afford to split switches in two ways.
schedule::Forest growWhole(const GrowthProblem& problem, const GrowthOptions& options, const Progress& progress,
                           StageClock& clock) {
  const std::vector<int>& gpus = problem.network.gpus;
  constexpr std::size_t kFewGpus = 32;  // up to here, other ways can give lower trees
  if (gpus.size() > kFewGpus) {
    if (auto forest = growTwoLevels(problem, options, progress, clock)) {
      return *std::move(forest);
    }
  }
  schedule::Forest forest = growBy({}, problem, options, progress, clock);
  const bool isThick =
      std::any_of(problem.supply.begin(), problem.supply.end(), [](int64_t trees) { return trees > 1; });
  if (isThick && gpus.size() <= kThoroughGpus && gpus.size() < static_cast<std::size_t>(problem.network.nodeCount)) {
    SplitOptions roundToTreesPerRoot;
    roundToTreesPerRoot.roundToTreesPerRoot = true;
    schedule::Forest other = growBy(roundToTreesPerRoot, problem, options, progress, clock);
    if (rankOf(other) < rankOf(forest)) {
      forest = std::move(other);
    }
  }
  return forest;
}

schedule::Forest forestOf(const GrowthProblem& problem, schedule::FactoredForest&& parts) {
  schedule::Forest forest;
  forest.gpuCount = static_cast<int>(problem.network.gpus.size());
  for (const int gpu : problem.network.gpus) {
    forest.treesOfRoot.push_back(problem.supply[gpu]);
  }
  forest.scale = problem.scale;
  forest.factored = std::make_shared<const schedule::FactoredForest>(std::move(parts));
  return forest;
}

schedule::Forest growPart(const GrowthProblem& problem, const std::vector<TreeArc>& fullCapacities,
                          const GrowthOptions& options, const Progress& progress);

/// The forest by parts, or nothing where the network does not fall apart.
std::optional<schedule::Forest> growParts(const GrowthProblem& problem, const std::vector<TreeArc>& fullCapacities,
                                          const GrowthOptions& options, const HasBetter& hasBetter,
                                          const Progress& progress) {
  Progress silent = progress;  // parts are solved on several threads
  silent.onReport = {};
  GrowthOptions inside = options;
  if (options.maxHeight < std::numeric_limits<int>::max()) {
    inside.maxHeight = std::max(1, options.maxHeight - 1);  // at least one hop leads there
  }
  const SolvePart solve = [&](const Network& part, const std::vector<TreeArc>& capacities,
                              const std::vector<TreeArc>& full, const std::vector<int64_t>& supply) {
    return growPart({part, capacities, supply, problem.scale}, full, inside, silent);
  };
  auto parts =
      growByParts(problem.network, problem.capacities, fullCapacities, problem.supply, solve, hasBetter, progress);
  if (!parts) {
    return std::nullopt;
  }
  return forestOf(problem, *std::move(parts));
}

void keepBetter(std::optional<schedule::Forest>& best, std::optional<schedule::Forest>&& other) {
  if (other && (!best || rankOf(*other) < rankOf(*best))) {
    best = std::move(other);
  }
}

schedule::Forest writtenOut(const schedule::Forest& forest, const Network& network, const Progress& progress) {
  auto written = schedule::expanded(forest, network.gpus, network.nodeCount, schedule::kMaxExpandedBytes, progress);
  if (!written) {
    throw Failure{written.error()};
  }
  return *std::move(written);
}

/// Stars where the part has room for them, or by parts of its own (a pod by its leaf switches, a group by its routers),
/// or whole, whichever is lower.
schedule::Forest growPart(const GrowthProblem& problem, const std::vector<TreeArc>& fullCapacities,
                          const GrowthOptions& options, const Progress& progress) {
  if (auto stars = growStarForest(problem, fullCapacities, progress)) {
    return *std::move(stars);
  }
  constexpr int kLow = 2;
  std::optional<schedule::Forest> nested;
  if (problem.network.gpus.size() + 1 < static_cast<std::size_t>(problem.network.nodeCount)) {
    nested = growParts(
        problem, fullCapacities, options, [] { return false; }, progress);
  }
  if (nested) {
    nested = writtenOut(*nested, problem.network, progress);
    if (schedule::maxHeight(*nested) <= kLow) {
      return *std::move(nested);
    }
  }
  std::vector<StageSeconds> seconds;
  StageClock clock(seconds);
  keepBetter(nested, growWhole(problem, options, progress, clock));
  return *std::move(nested);
}

bool mayKeepParts(const schedule::Forest& forest, const GrowthOptions& options) {
  return options.form == schedule::ForestForm::parts ||
         (options.form == schedule::ForestForm::automatic && schedule::sizeOf(forest).expandedBytes > kMaxWrittenBytes);
}

/// Small fabrics are grown in all ways, and the best forest is kept.
schedule::Forest growSmall(const GrowthProblem& problem, const GrowthProblem& lean, const GrowthOptions& options,
                           const Progress& progress, StageClock& clock) {
  std::optional<schedule::Forest> best = growParts(
      lean, problem.capacities, options, [] { return false; }, progress);
  clock.done("parts");
  if (best && mayKeepParts(*best, options)) {
    return *std::move(best);
  }
  if (best) {
    best = writtenOut(*best, problem.network, progress);
    clock.done("expansion");
  }
  keepBetter(best, growWhole(lean, options, progress, clock));
  constexpr int kLow = 2;
  if (schedule::maxHeight(*best) > kLow) {
    // Trimmed links between switches carry what some forest needs, which need not be this one.
    keepBetter(best, growTwoLevels(problem, options, progress, clock));
  }
  return *std::move(best);
}

/// Larger fabrics are grown by parts, or in two levels where a forest by parts is high: before its parts are solved
/// where that can be told by then.
schedule::Forest growLarge(const GrowthProblem& problem, const GrowthProblem& lean, const GrowthOptions& options,
                           const Progress& progress, StageClock& clock) {
  std::optional<schedule::Forest> low;
  bool isLowTried = false;
  const HasBetter hasBetter = [&] {
    clock.done("parts");
    low = growBesideParts(problem, options, progress, clock);
    isLowTried = true;
    return low.has_value();
  };
  std::optional<schedule::Forest> forest = growParts(lean, problem.capacities, options, hasBetter, progress);
  clock.done("parts");
  if (low) {
    return *std::move(low);
  }
  if (!forest) {
    // Trimmed links between switches carry what some forest needs, which need not be this one.
    auto found = growTwoLevels(problem, options, progress, clock);
    return found ? *std::move(found) : growWhole(lean, options, progress, clock);
  }
  if (mayKeepParts(*forest, options)) {
    return *std::move(forest);
  }
  constexpr int kLow = 2;
  const int height = schedule::maxHeight(*forest);  // of parts, faster than of trees
  if (!isLowTried && height > kLow) {
    low = growBesideParts(problem, options, progress, clock);
    if (low && schedule::maxHeight(*low) < height) {
      return *std::move(low);
    }
  }
  forest = writtenOut(*forest, problem.network, progress);
  clock.done("expansion");
  keepBetter(forest, std::move(low));
  return *std::move(forest);
}

/// One strategy. Stars are the lowest trees there are, but routing those of many GPUs takes long.
schedule::Forest growTrimmed(Trimming trimming, const GrowthProblem& problem, const GrowthOptions& options,
                             const Progress& progress, StageClock& clock) {
  const bool isSmall = problem.network.gpus.size() <= kThoroughGpus;
  if (isSmall && options.form != schedule::ForestForm::parts) {
    auto stars = growStarForest(problem, problem.capacities, progress);
    clock.done("stars");
    if (stars) {
      return *std::move(stars);
    }
  }
  std::vector<TreeArc> trimmed = problem.capacities;
  trimCapacities(problem.network, trimmed, problem.supply, trimming, progress);
  clock.done("trimming");
  const GrowthProblem lean{problem.network, trimmed, problem.supply, problem.scale};
  return isSmall ? growSmall(problem, lean, options, progress, clock)
                 : growLarge(problem, lean, options, progress, clock);
}

/// The trees of rank 0 and their images, where writing all trees out would take too much, and the fabric's GPUs are all
/// alike.
std::optional<schedule::Forest> growRotated(const Fabric& fabric, const GrowthProblem& problem,
                                            const GrowthOptions& options, const Progress& progress) {
  if (options.form == schedule::ForestForm::trees || options.maxHeight < std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  const auto gpus = static_cast<int64_t>(problem.network.gpus.size());
  if (treeCount(problem.network, problem.supply) * gpus * static_cast<int64_t>(sizeof(schedule::TreeEdge)) <=
      kMaxWrittenImages) {
    return std::nullopt;
  }
  auto parts = growSymmetricForest(fabric, problem.network, problem.capacities, problem.supply, progress);
  return parts ? std::optional(forestOf(problem, *std::move(parts))) : std::nullopt;
}

constexpr std::array kStrategies = {Trimming::proportional, Trimming::restoring, Trimming::none};

/// What one strategy came to in a round.
struct Attempt {
  std::optional<schedule::Forest> forest;
  std::vector<StageSeconds> seconds;
  std::exception_ptr failure;  ///< it cannot succeed with any amount of work
};

/// All strategies side by side, each with the given amount of work.
std::array<Attempt, kStrategies.size()> race(const GrowthProblem& problem, const GrowthOptions& options,
                                             std::uint64_t work, const Progress& progress) {
  std::array<Attempt, kStrategies.size()> attempts;
  std::array<std::stop_source, kStrategies.size()> stops;
  const std::stop_callback onCancel(progress.stop, [&] {
    for (std::stop_source& stop : stops) {
      stop.request_stop();
    }
  });
  parallelFor(kStrategies.size(), [&](std::size_t i) {
    Attempt& attempt = attempts[i];
    Progress own;
    own.stop = stops[i].get_token();
    own.work = std::make_shared<WorkMeter>(work);
    StageClock clock(attempt.seconds);
    try {
      attempt.forest = growTrimmed(kStrategies[i], problem, options, own, clock);
      for (std::size_t later = i + 1; later < stops.size(); ++later) {
        stops[later].request_stop();
      }
    } catch (const WorkLimitReached&) {
      // the next round gives more
    } catch (const CancelledError&) {
      // beaten by an earlier one, or the whole is cancelled
    } catch (...) {
      attempt.failure = std::current_exception();
    }
  });
  throwIfCancelled(progress);
  return attempts;
}

}  // namespace

void StageClock::done(const char* stage) {
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - m_start).count();
  m_start = now;
  for (StageSeconds& entry : m_seconds) {
    if (entry.stage == stage) {
      entry.seconds += elapsed;
      return;
    }
  }
  m_seconds.push_back({stage, elapsed});
}

schedule::Forest growForest(const Fabric& fabric, const GrowthProblem& problem, const GrowthOptions& options,
                            const Progress& progress, StageClock& clock) {
  constexpr int kRounds = 14;
  const auto gpus = static_cast<std::uint64_t>(fabric.gpuCount());
  if (auto forest = growRotated(fabric, problem, options, progress)) {
    clock.done("rotated trees");
    return *std::move(forest);
  }
  std::uint64_t work = options.firstWork > 0 ? options.firstWork : 400'000'000 + 256 * gpus * gpus;
  try {
    Progress alone = progress;
    alone.work = std::make_shared<WorkMeter>(work);
    return growTrimmed(kStrategies.front(), problem, options, alone, clock);
  } catch (const WorkLimitReached&) {
    clock.done("alone");
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::internal) {
      throw;
    }
    clock.done("alone");
  }
  for (int round = 0; round < kRounds; ++round) {
    work *= 4;
    progress.report("racing", 0);
    auto attempts = race(problem, options, work, progress);
    clock.done("racing");
    for (Attempt& attempt : attempts) {
      if (attempt.forest) {
        return *std::move(attempt.forest);
      }
    }
    if (std::all_of(attempts.begin(), attempts.end(), [](const Attempt& attempt) { return attempt.failure; })) {
      std::rethrow_exception(attempts.front().failure);
    }
  }
  throw Failure{{ErrorCode::limit, "no strategy found a forest within the work that is allowed",
                 "use a smaller k, or report this fabric"}};
}

}  // namespace coppice::forestcoll
