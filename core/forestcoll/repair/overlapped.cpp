// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/overlapped.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "lp/shared_halves.hpp"
#include "schedule/link_loads.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using schedule::Forest;
using schedule::Schedule;
using std::int64_t;

constexpr lp::Milliseconds kBudget(20'000);

Forest only(const Forest& forest, const LockedTrees& trees) {
  Forest kept = forest;
  kept.trees.clear();
  for (const int64_t tree : trees) {
    kept.trees.push_back(forest.trees[tree]);
  }
  return kept;
}

class LockedHalves {
public:
  LockedHalves(const Fabric& fabric, const Schedule& old, const std::array<LockedTrees, 2>& locked,
               const RepairOptions& options, const Progress& progress)
      : m_fabric(fabric), m_old(old), m_options(options), m_progress(progress), m_locked(locked) {
    m_options.locked.reset();
    for (std::size_t half = 0; half < 2; ++half) {
      const std::optional<Forest>& forest = half == 0 ? old.reduceForest : old.broadcastForest;
      m_forests[half] = orThrow(schedule::expanded(*forest, fabric, options.maxTreeBytes, progress));
      if (std::ranges::any_of(m_forests[half].edges, [](const schedule::TreeEdge& edge) { return edge.pruned > 0; })) {
        throw Failure{{ErrorCode::badUsage, "switches copy or sum in these trees, which cannot be generated around",
                       "generate with --plain-switches"}};
      }
      m_loads[half] = schedule::linkLoads(fabric, m_forests[half], {}, progress);
    }
  }

  Repaired run() {
    try {
      if (const auto shares = bestShares()) {
        Repaired made = within(shares->trees, InverseBandwidth(shares->time * Rational(shares->denominator)));
        const Rational trees(m_forests[1].treeCount());
        made.optimum = Bandwidth(trees / shares->time);
        return made;
      }
    } catch (const OverflowError&) {
      // The parts that the halves have now are as exact as the schedule.
    }
    return within(m_loads, m_forests[1].scale);
  }

private:
  /// With t in trees per GB/s.
  [[nodiscard]] std::optional<lp::HalvesShares> bestShares() const {
    lp::HalvesProblem problem;
    problem.nodeCount = m_fabric.nodeCount();
    for (const fabric::Node& node : m_fabric.nodes()) {
      problem.isGpu.push_back(node.kind == fabric::NodeKind::gpu);
    }
    int64_t unit = 1;
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      unit = leastCommonMultiple(unit, arc.bandwidth.gigabytesPerSecond().denominator());
    }
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      problem.arcs.push_back({arc.tail, arc.head});
      const Rational& rate = arc.bandwidth.gigabytesPerSecond();
      problem.capacities.push_back(checkedMul(rate.numerator(), unit / rate.denominator()));
    }
    for (std::size_t half = 0; half < 2; ++half) {
      lp::HalvesProblem::Half& of = problem.halves[half];
      of.load = schedule::linkLoads(m_fabric, only(m_forests[half], m_locked[half]), {}, m_progress);
      of.supply.assign(static_cast<std::size_t>(problem.nodeCount), 0);
      for (int rank = 0; rank < m_fabric.gpuCount(); ++rank) {
        of.supply[m_fabric.gpus()[rank]] = m_forests[half].treesOfRoot[rank];
      }
      for (const int64_t tree : m_locked[half]) {
        const schedule::Tree& at = m_forests[half].trees[tree];
        of.supply[m_fabric.gpus()[at.root]] -= at.multiplicity;
      }
    }
    const Rational scale = m_forests[1].scale.perGBps() / Rational(unit);
    auto shares = lp::shareHalves(problem, scale, kBudget, m_progress);
    if (shares) {
      shares->time *= Rational(unit);
    }
    return shares;
  }

  /// Each half within trees / perGBps of every link.
  [[nodiscard]] Repaired within(const std::array<std::vector<int64_t>, 2>& trees,
                                const InverseBandwidth& perGBps) const {
    Repaired result;
    result.schedule = m_old;
    std::array<Forest, 2> made;
    for (std::size_t half = 0; half < 2; ++half) {
      const Fabric part = orThrow(Fabric::build(partOf(trees[half], perGBps)));
      RepairOptions options = m_options;
      options.locked.emplace();
      (*options.locked)[half] = m_locked[half];
      const Schedule old = halfOf(half, part);
      Repaired repairedHalf = orThrow(repaired(part, old, part, options, m_progress));
      made[half] = *std::move(half == 0 ? repairedHalf.schedule.reduceForest : repairedHalf.schedule.broadcastForest);
      const RepairCount& count = repairedHalf.count;
      result.count.unaffectedTrees += count.unaffectedTrees;
      result.count.keptTrees += count.keptTrees;
      result.count.newTrees += count.newTrees;
      result.count.unaffected += count.unaffected / Rational(2);
      result.count.kept += count.kept / Rational(2);
    }
    join(std::move(made), result.schedule);
    return result;
  }

  /// What the half has of the fabric, with the same nodes and ranks.
  [[nodiscard]] fabric::Description partOf(const std::vector<int64_t>& trees, const InverseBandwidth& perGBps) const {
    fabric::Description part;
    part.name = m_fabric.name();
    for (const fabric::Node& node : m_fabric.nodes()) {
      fabric::NodeDescription described;
      described.id = node.id;
      described.kind = std::string(toString(node.kind));
      described.box = node.box;
      if (node.rank >= 0) {
        described.rank = node.rank;
      }
      part.nodes.push_back(std::move(described));
    }
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const fabric::Arc& arc = m_fabric.arcs()[i];
      if (trees[i] > 0) {
        part.links.push_back({m_fabric.nodes()[arc.tail].id, m_fabric.nodes()[arc.head].id,
                              toFraction(Rational(trees[i]) / perGBps), false});
      }
    }
    return part;
  }

  [[nodiscard]] Schedule halfOf(std::size_t half, const Fabric& part) const {
    Schedule schedule;
    schedule.collective = half == 0 ? Collective::reduceScatter : Collective::allgather;
    schedule.fabricName = part.name();
    schedule.fabricDigest = part.digest();
    (half == 0 ? schedule.reduceForest : schedule.broadcastForest) = m_forests[half];
    const std::vector<int64_t>& roots = m_forests[half].treesOfRoot;
    if (std::ranges::adjacent_find(roots, std::not_equal_to<>()) != roots.end()) {
      schedule.amounts = roots;
    }
    schedule.algbw = m_forests[half].algbw();
    schedule.bound = schedule.algbw;
    return schedule;
  }

  /// With as many trees of each root in both, and the scale that the busiest link needs.
  void join(std::array<Forest, 2> made, Schedule& schedule) const {
    const int64_t count = leastCommonMultiple(made[0].treeCount(), made[1].treeCount());
    std::vector<int64_t> loads(m_fabric.arcs().size(), 0);
    for (Forest& forest : made) {
      const int64_t factor = count / forest.treeCount();
      for (schedule::Tree& tree : forest.trees) {
        tree.multiplicity = checkedMul(tree.multiplicity, factor);
      }
      for (int64_t& trees : forest.treesOfRoot) {
        trees = checkedMul(trees, factor);
      }
      const auto own = schedule::linkLoads(m_fabric, forest, {}, m_progress);
      for (std::size_t i = 0; i < loads.size(); ++i) {
        loads[i] = checkedAdd(loads[i], own[i]);
      }
    }
    InverseBandwidth scale;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      scale = std::max(scale, Rational(loads[i]) / m_fabric.arcs()[i].bandwidth);
    }
    made[0].scale = scale;
    made[1].scale = scale;
    schedule.reduceForest = std::move(made[0]);
    schedule.broadcastForest = std::move(made[1]);
    schedule.algbw = schedule.broadcastForest->algbw();
  }

  const Fabric& m_fabric;
  const Schedule& m_old;
  RepairOptions m_options;
  const Progress& m_progress;
  const std::array<LockedTrees, 2>& m_locked;
  std::array<Forest, 2> m_forests;              ///< reduce, broadcast
  std::array<std::vector<int64_t>, 2> m_loads;  ///< of all trees, by arc
};

}  // namespace

Repaired aroundLockedHalves(const Fabric& fabric, const Schedule& schedule, const std::array<LockedTrees, 2>& locked,
                            const RepairOptions& options, const Progress& progress) {
  return LockedHalves(fabric, schedule, locked, options, progress).run();
}

}  // namespace coppice::forestcoll
