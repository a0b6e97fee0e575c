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
using schedule::Forest;
using std::int64_t;

constexpr std::size_t kThoroughGpus = 64;  // GPUs: up to here there is time to grow a forest in several ways
constexpr std::size_t kStarGpus = 256;     // GPUs: up to here, and in parts, stars are looked for in the whole fabric
constexpr int kLow = 2;                    // hops: only stars are lower

bool hasHeightCap(const GrowthOptions& options) {
  return options.maxHeight < std::numeric_limits<int>::max();
}

/// What makes one forest better than another: lower, then fewer different trees.
struct Standing {
  int height = 0;
  std::size_t trees = 0;

  friend auto operator<=>(const Standing&, const Standing&) = default;
};

Standing standingOf(const Forest& forest) {
  return {schedule::maxHeight(forest), forest.trees.size()};
}

/// A forest while it is grown, of the whole fabric or of a part of it: the problem, and the best so far.
class Growing {
public:
  /// The whole fabric.
  Growing(const GrowthProblem& problem, Trimming trimming, const GrowthOptions& withOptions,
          const Progress& withProgress, StageClock& ofStages)
      : full(problem), options(withOptions), progress(withProgress), clock(ofStages), m_trimming(trimming) {}
  /// A part of it, which is trimmed already.
  Growing(const GrowthProblem& trimmed, const std::vector<TreeArc>& fullCapacities, const GrowthOptions& withOptions,
          const Progress& withProgress, StageClock& ofStages)
      : full{trimmed.network, fullCapacities, trimmed.supply, trimmed.scale},
        isPart(true),
        options(withOptions),
        progress(withProgress),
        clock(ofStages) {
    m_lean.emplace(trimmed);
  }

  const GrowthProblem full;  ///< before trimming
  const bool isPart = false;
  const GrowthOptions& options;
  const Progress& progress;
  StageClock& clock;

  /// The problem after trimming.
  const GrowthProblem& lean() {
    if (!m_lean) {
      m_trimmed = full.capacities;
      trimCapacities(full.network, m_trimmed, full.supply, m_trimming, progress);
      clock.done("trimming");
      m_lean.emplace(GrowthProblem{full.network, m_trimmed, full.supply, full.scale});
    }
    return *m_lean;
  }
  /// The parts into which the network falls apart, or nullptr.
  PartForest* parts() {
    if (!m_isSplit) {
      m_isSplit = true;
      if (!isPart || gpus() + 1 < static_cast<std::size_t>(full.network.nodeCount)) {
        m_parts = PartForest::split(full.network, lean().capacities, full.capacities, full.supply, progress);
        clock.done("parts");
      }
    }
    return m_parts ? &*m_parts : nullptr;
  }

  [[nodiscard]] std::size_t gpus() const { return full.network.gpus.size(); }
  [[nodiscard]] bool isSmall() const { return !isPart && gpus() <= kThoroughGpus; }
  [[nodiscard]] bool isLarge() const { return !isPart && gpus() > kThoroughGpus; }
  [[nodiscard]] bool hasForest() const { return m_best.has_value(); }
  [[nodiscard]] bool isAbove(int height) const { return !m_best || m_best->height > height; }

  void offer(Forest&& forest) {
    if (isBest(standingOf(forest))) {
      m_forest = std::move(forest);
    }
  }
  /// The forest of the parts, which is written out only if it stays the best.
  void offerParts() {
    if (isBest({m_parts->maxHeight(), m_parts->treeCount()})) {
      m_forest.reset();
    }
  }
  /// The best. @pre hasForest()
  Forest take() {
    if (!m_forest) {
      m_forest = m_parts->write(full.scale, options.maxTreeBytes, progress);
      clock.done("writing");
    }
    return *std::move(m_forest);
  }

private:
  bool isBest(const Standing& standing) {
    const bool isBetter = !m_best || standing < *m_best;
    m_best = isBetter ? standing : *m_best;
    return isBetter;
  }

  Trimming m_trimming = Trimming::none;
  std::vector<TreeArc> m_trimmed;
  std::optional<GrowthProblem> m_lean;
  bool m_isSplit = false;
  std::optional<PartForest> m_parts;
  std::optional<Standing> m_best;
  std::optional<Forest> m_forest;  ///< the best; absent while it is that of the parts
};

/// Stars balance the switches by themselves, so that nothing need be trimmed.
void growStarForest(Growing& growing) {
  const GrowthProblem& problem = growing.full;
  if (auto stars = growStars(problem.network, problem.capacities, problem.supply, growing.progress)) {
    growing.offer(
        recoverPaths(stars->topology, stars->logical, std::move(stars->trees), problem.scale, growing.progress));
  }
}

/// Boxes on a network where single GPUs are the bottleneck.
std::optional<Forest> twoLevels(const GrowthProblem& problem, const GrowthOptions& options, const Progress& progress) {
  if (options.maxHeight < 2) {
    return std::nullopt;
  }
  auto found = growTwoLevel(problem.network, problem.capacities, problem.supply, progress);
  if (!found) {
    return std::nullopt;
  }
  Forest forest = recoverPaths(found->topology, found->logical, std::move(found->trees), problem.scale, progress);
  const bool isTooHigh = hasHeightCap(options) && schedule::maxHeight(forest) > options.maxHeight;
  return isTooHigh ? std::nullopt : std::optional(std::move(forest));
}

/// With nothing trimmed: trimmed links between switches carry what some forest needs.
void growTwoLevels(Growing& growing) {
  Progress limited = growing.progress;
  if (growing.isLarge() && growing.parts() != nullptr) {
    // Beside parts: these add the heights of parts within parts up, and boxes on a network need no more than 3 hops.
    constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 27;
    constexpr int64_t kMaxEdges = int64_t{1} << 24;
    if (growing.options.heightEffort == 0 ||
        treeCount(growing.full.network, growing.full.supply) * static_cast<int64_t>(growing.gpus()) > kMaxEdges) {
      return;
    }
    limited.work = std::make_shared<WorkMeter>(kMaxWork);
  }
  try {
    if (auto forest = twoLevels(growing.full, growing.options, limited)) {
      growing.offer(*std::move(forest));
    }
  } catch (const WorkLimitReached&) {
    if (limited.work == growing.progress.work) {
      throw;
    }
  }
}

Forest growPart(const GrowthProblem& lean, const std::vector<TreeArc>& fullCapacities, const GrowthOptions& options,
                const Progress& progress);

/// Trees over the parts with trees of the parts hung into them.
void growParts(Growing& growing) {
  Progress silent = growing.progress;  // parts are solved on several threads
  silent.onReport = {};
  GrowthOptions inside = growing.options;
  if (hasHeightCap(inside)) {
    inside.maxHeight = std::max(1, inside.maxHeight - 1);  // at least one hop leads there
  }
  const SolvePart solve = [&](const Network& part, const std::vector<TreeArc>& capacities,
                              const std::vector<TreeArc>& untrimmed, const std::vector<int64_t>& supply) {
    return growPart({part, capacities, supply, growing.full.scale}, untrimmed, inside, silent);
  };
  growing.parts()->grow(solve, growing.progress);
  growing.offerParts();
}

Forest removeAndPack(const SplitOptions& split, Growing& growing) {
  const GrowthProblem& problem = growing.lean();
  const LogicalTopology topology =
      removeSwitches(problem.network, problem.capacities, problem.supply, growing.progress, split);
  growing.clock.done("splitting");
  const LogicalProblem logical = logicalProblem(problem.network, topology, problem.supply);
  PackingOptions options;
  options.heightEffort = growing.options.heightEffort;
  options.maxHeight = growing.options.maxHeight;
  std::vector<PackedTree> packed = packTrees(logical.packing, growing.progress, options);
  growing.clock.done("packing");
  return recoverPaths(topology, logical, std::move(packed), problem.scale, growing.progress);
}

/// Two levels, or switch removal, packing and path recovery; small fabrics can afford to split switches in two ways.
void growWhole(Growing& growing) {
  constexpr std::size_t kFewGpus = 32;  // up to here, other ways can give lower trees than two levels
  if (growing.gpus() > kFewGpus) {
    if (auto forest = twoLevels(growing.lean(), growing.options, growing.progress)) {
      growing.offer(*std::move(forest));
      return;
    }
    growing.clock.done("two levels");
  }
  growing.offer(removeAndPack({}, growing));
  const std::vector<int64_t>& supply = growing.full.supply;
  const bool isThick = std::any_of(supply.begin(), supply.end(), [](int64_t trees) { return trees > 1; });
  if (isThick && growing.gpus() <= kThoroughGpus &&
      growing.gpus() < static_cast<std::size_t>(growing.full.network.nodeCount)) {
    SplitOptions roundToTreesPerRoot;
    roundToTreesPerRoot.roundToTreesPerRoot = true;
    growing.offer(removeAndPack(roundToTreesPerRoot, growing));
  }
}

/// A way to grow a forest: offers what it finds, if anything.
struct Strategy {
  const char* name;
  bool (*applies)(Growing&);
  void (*grow)(Growing&);
};

/// In the order in which they are tried; of the forests that they offer, the first of the best Standing is taken. Small
/// fabrics are grown in all ways, parts of fabrics until they are low, large fabrics until there is any forest, and in
/// two levels too where that of the parts is high.
constexpr std::array kStrategies = {
    // The lowest trees there are, but routing those of many GPUs takes long.
    Strategy{"stars", [](Growing& g) { return g.isPart || g.gpus() <= kStarGpus; }, growStarForest},
    Strategy{"parts", [](Growing& g) { return g.isAbove(1) && g.parts() != nullptr && g.parts()->hasStars(); },
             growParts},
    // Before trees over the parts that are no stars: those are high, and finding them can cost much more.
    Strategy{"two levels", [](Growing& g) { return g.isLarge() && g.isAbove(kLow); }, growTwoLevels},
    Strategy{"parts", [](Growing& g) { return !g.hasForest() && g.parts() != nullptr; }, growParts},
    Strategy{"routes",
             [](Growing& g) { return g.isSmall() ? g.isAbove(1)
                                     : g.isPart  ? g.isAbove(kLow)
                                                 : !g.hasForest(); },
             growWhole},
    Strategy{"two levels", [](Growing& g) { return g.isSmall() && g.isAbove(kLow); }, growTwoLevels},
};

Forest growBest(Growing&& growing) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.applies(growing)) {
      strategy.grow(growing);
      growing.clock.done(strategy.name);
    }
  }
  return growing.take();
}

Forest growPart(const GrowthProblem& lean, const std::vector<TreeArc>& fullCapacities, const GrowthOptions& options,
                const Progress& progress) {
  std::vector<StageSeconds> seconds;
  StageClock clock(seconds);
  return growBest(Growing(lean, fullCapacities, options, progress, clock));
}

/// The trees of rank 0 and their images, where all trees would take much more and the fabric's GPUs are all alike.
std::optional<Forest> growRotated(const Fabric& fabric, const GrowthProblem& problem, const GrowthOptions& options,
                                  const Progress& progress) {
  constexpr int64_t kMaxBytes = int64_t{128} << 20;
  const auto gpus = static_cast<int64_t>(problem.network.gpus.size());
  if (hasHeightCap(options) || !options.canRotate ||
      treeCount(problem.network, problem.supply) * gpus * static_cast<int64_t>(sizeof(schedule::TreeEdge)) <=
          kMaxBytes) {
    return std::nullopt;
  }
  auto forest = growSymmetricForest(fabric, problem.network, problem.capacities, problem.supply, progress);
  if (forest) {
    for (const int gpu : problem.network.gpus) {
      forest->treesOfRoot.push_back(problem.supply[gpu]);
    }
    forest->scale = problem.scale;
  }
  return forest;
}

/// Every root has a tree, which is written edge by edge.
void requireRoom(const GrowthProblem& problem, std::int64_t maxBytes) {
  const auto gpus = static_cast<int>(problem.network.gpus.size());
  const auto roots = std::count_if(problem.supply.begin(), problem.supply.end(), [](int64_t k) { return k > 0; });
  if (const int64_t bytes = schedule::writtenBytes(roots, gpus, 0); bytes > maxBytes) {
    throw Failure{schedule::treesTooLarge(roots, bytes, maxBytes)};
  }
}

constexpr std::array kTrimmings = {Trimming::proportional, Trimming::restoring, Trimming::none};

/// What one trimming came to in a round.
struct Attempt {
  std::optional<Forest> forest;
  std::vector<StageSeconds> seconds;
  std::exception_ptr failure;  ///< it cannot succeed with any amount of work
};

/// All trimmings side by side, each with the given amount of work.
std::array<Attempt, kTrimmings.size()> race(const GrowthProblem& problem, const GrowthOptions& options,
                                            std::uint64_t work, const Progress& progress) {
  std::array<Attempt, kTrimmings.size()> attempts;
  std::array<std::stop_source, kTrimmings.size()> stops;
  const std::stop_callback onCancel(progress.stop, [&] {
    for (std::stop_source& stop : stops) {
      stop.request_stop();
    }
  });
  parallelFor(kTrimmings.size(), [&](std::size_t i) {
    Attempt& attempt = attempts[i];
    Progress own;
    own.stop = stops[i].get_token();
    own.work = std::make_shared<WorkMeter>(work);
    StageClock clock(attempt.seconds);
    try {
      attempt.forest = growBest(Growing(problem, kTrimmings[i], options, own, clock));
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

Forest growForest(const Fabric& fabric, const GrowthProblem& problem, const GrowthOptions& options,
                  const Progress& progress, StageClock& clock) {
  constexpr int kRounds = 14;
  const auto gpus = static_cast<std::uint64_t>(fabric.gpuCount());
  if (auto forest = growRotated(fabric, problem, options, progress)) {
    clock.done("rotated trees");
    return *std::move(forest);
  }
  requireRoom(problem, options.maxTreeBytes);
  std::uint64_t work = options.firstWork > 0 ? options.firstWork : 400'000'000 + 256 * gpus * gpus;
  try {
    Progress alone = progress;
    alone.work = std::make_shared<WorkMeter>(work);
    return growBest(Growing(problem, kTrimmings.front(), options, alone, clock));
  } catch (const WorkLimitReached&) {
    clock.done("alone");
    if (!options.mayRace) {
      throw;
    }
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
  throw Failure{{ErrorCode::limit, "no way to trim led to a forest within the work that is allowed",
                 "use a smaller k, or report this fabric"}};
}

}  // namespace coppice::forestcoll
