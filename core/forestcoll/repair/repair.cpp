// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/repair.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/guarded.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/packing/growth.hpp"
#include "forestcoll/repair/kept_trees.hpp"
#include "forestcoll/repair/residual.hpp"
#include "schedule/fixed_k.hpp"
#include "schedule/link_loads.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using schedule::Forest;
using schedule::Schedule;
using std::int64_t;

[[noreturn]] void refuse(ErrorCode code, std::string message, std::string fix) {
  throw Failure{{code, std::move(message), std::move(fix)}};
}

/// One forest of the schedule, as an out-forest (reductions on the transposes of the fabrics).
struct Half {
  const Fabric& before;
  const Forest& old;
  const Fabric& after;
  std::span<const int64_t> demand;  ///< by rank of `after`
  const Optimum& optimum;           ///< of `after`
  const LockedTrees* locked;        ///< null: any tree may stay
};

struct RepairedHalf {
  Forest forest;
  Bandwidth keepingAll;
  RepairCount count;
};

/// Trees with copies, and the share of the data that these carry.
std::pair<int64_t, Rational> countOf(const KeptTrees& kept, bool isRerouted) {
  int64_t trees = 0;
  int64_t copies = 0;
  for (const KeptTrees::Tree& tree : kept.trees()) {
    if (tree.isRerouted == isRerouted && tree.copies > 0) {
      ++trees;
      copies += tree.copies;
    }
  }
  return {trees, Rational(copies, kept.allCopies())};
}

/// The sets Q that the optimum's cuts leave.
std::vector<std::vector<int>> tightSets(const Network& network, std::span<const schedule::Cut> cuts) {
  std::vector<std::vector<int>> sets;
  for (const schedule::Cut& cut : cuts) {
    std::vector<int> rest;
    for (int node = 0; node < network.nodeCount; ++node) {
      if (!std::binary_search(cut.nodes.begin(), cut.nodes.end(), node)) {
        rest.push_back(node);
      }
    }
    sets.push_back(std::move(rest));
  }
  return sets;
}

/// Adds what other routes can keep, and releases what is too much for t = `target`.
LeastTime settle(const Half& half, const Network& network, KeptTrees& kept, const Rational& optimal,
                 const Rational& target, const Progress& progress) {
  std::vector<int64_t> room;
  for (const TreeArc& arc : scaledArcs(network, target)) {
    room.push_back(arc.capacity);
  }
  if (half.locked == nullptr) {
    kept.reroute(half.before, half.old, half.after, room, progress);
  }
  releaseUntil(network, kept, target, progress);
  // Releases are of whole copies, and may gain more than they must.
  LeastTime least = target == optimal ? LeastTime{optimal, {}} : leastTime(network, kept, optimal, progress);
  if (least.time == optimal) {
    least.tight = tightSets(network, half.optimum.bottlenecks);
  }
  return least;
}

/// Copies a tree of one forest into another, whose routes begin at `firstPath`.
void append(Forest& forest, fabric::Rank root, int64_t multiplicity, std::span<const schedule::TreeEdge> edges,
            schedule::PathId firstPath) {
  forest.trees.push_back({root, multiplicity, static_cast<int64_t>(forest.edges.size())});
  for (schedule::TreeEdge edge : edges) {
    edge.path += firstPath;
    forest.edges.push_back(edge);
  }
}

/// Of each root first the trees that stay, in their old order, then the new ones.
Forest joined(const KeptTrees& kept, int64_t factor, const std::optional<Forest>& grown,
              const InverseBandwidth& scale) {
  Forest forest;
  forest.gpuCount = kept.gpuCount();
  forest.scale = scale;
  forest.paths = kept.paths();
  const schedule::PathId firstPath = forest.paths.size();
  for (schedule::PathId path = 0; grown && path < grown->paths.size(); ++path) {
    forest.paths.add(grown->paths[path]);
  }
  std::vector<int64_t> copies = kept.lost();
  auto old = kept.trees().begin();
  std::size_t next = 0;
  // GPUs keep their order where the description numbers them, but need not where it states ranks.
  std::vector<std::size_t> order(kept.trees().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return old[a].root < old[b].root; });
  std::size_t at = 0;
  for (fabric::Rank root = 0; root < forest.gpuCount; ++root) {
    for (; at < order.size() && old[order[at]].root == root; ++at) {
      const KeptTrees::Tree& tree = old[order[at]];
      if (tree.copies > 0) {
        copies[root] = checkedAdd(copies[root], tree.copies);
        append(forest, root, checkedMul(tree.copies, factor), kept.edgesOf(tree), 0);
      }
    }
    for (; grown && next < grown->trees.size() && grown->trees[next].root == root; ++next) {
      const schedule::Tree& tree = grown->trees[next];
      append(forest, root, tree.multiplicity, grown->edgesOf(tree), firstPath);
    }
    forest.treesOfRoot.push_back(checkedMul(copies[root], factor));
  }
  return forest;
}

/// Above this a repair with very many copies is given up for one with few that loses up to 0.1 %, or else 1 %.
constexpr int kManyGpus = 256;

/// Trees for the lost copies; nothing where that takes more work than the limit.
std::optional<Forest> growBeside(const Fabric& after, const Network& network, const Room& room,
                                 const RepairOptions& options, bool isLimited, const Progress& progress) {
  std::vector<StageSeconds> seconds;
  StageClock clock(seconds);
  GrowthOptions growth;
  growth.heightEffort = options.heightEffort;
  growth.maxTreeBytes = options.maxTreeBytes;
  growth.canRotate = false;
  growth.mayRace = !isLimited;
  const InverseBandwidth scale = room.time * Rational(room.factor) / network.unit;
  try {
    return growForest(after, {network, room.capacities, room.supply, scale}, growth, progress, clock);
  } catch (const WorkLimitReached&) {
    return std::nullopt;
  }
}

RepairedHalf repairHalf(const Half& half, const RepairOptions& options, const Progress& progress) {
  const Fabric& after = half.after;
  const Network network = makeNetwork(after.nodeCount(), after.gpus(), after.arcs(), half.demand);
  KeptTrees kept(half.before, half.old, after, half.locked);
  if (kept.allCopies() == 0) {
    refuse(ErrorCode::infeasible, "no GPU that is left has anything to send", "give other amounts");
  }
  RepairedHalf result;
  std::tie(result.count.unaffectedTrees, result.count.unaffected) = countOf(kept, false);
  const Rational optimal = Rational(kept.allCopies()) / half.optimum.algbw * network.unit;
  const Rational all = leastTime(network, kept, optimal, progress).time;
  result.keepingAll = Rational(kept.allCopies()) / (all / network.unit);
  const Rational target = options.keepAll || half.locked != nullptr ? all : optimal / (Rational(1) - options.maxLoss);
  const LeastTime least = settle(half, network, kept, optimal, target, progress);
  std::tie(result.count.keptTrees, result.count.kept) = countOf(kept, false);
  std::tie(result.count.reroutedTrees, result.count.rerouted) = countOf(kept, true);
  if (kept.lostCopies() == 0) {
    result.forest = joined(kept, 1, std::nullopt, least.time / network.unit);
    return result;
  }
  Room room = roomAt(network, kept, least, std::max(least.time, target), progress);
  const bool isLarge = after.gpuCount() > kManyGpus;
  std::optional<Forest> grown = growBeside(after, network, room, options, isLarge, progress);
  for (const std::int64_t part : {std::int64_t{1000}, std::int64_t{100}}) {
    if (!grown) {
      room = roomAt(network, kept, least, least.time * Rational(part, part - 1), progress);
      grown = growBeside(after, network, room, options, /*isLimited=*/part > 100, progress);
    }
  }
  result.count.newTrees = static_cast<int64_t>(grown->trees.size());
  const InverseBandwidth scale = room.time * Rational(room.factor) / network.unit;
  result.forest = joined(kept, room.factor, grown, scale);
  if (room.time > least.time) {
    // The busiest link may need less than was allowed.
    result.forest.scale = schedule::neededScale(after, result.forest, progress);
  }
  return result;
}

/// What is asked of the changed fabric.
Request requestOf(const Fabric& before, const Schedule& old, const Fabric& after) {
  Request request;
  request.collective = old.collective;
  request.plainSwitches = true;
  request.overlap = Overlap::never;
  request.allreduceBudget = std::chrono::milliseconds(0);
  if (old.root) {
    const std::string& id = before.nodes()[before.gpus()[*old.root]].id;
    const auto node = after.find(id);
    if (!node) {
      refuse(ErrorCode::infeasible, "the root " + inQuotes(id) + " has failed", "choose another root");
    }
    request.root = after.nodes()[*node].rank;
  }
  if (!old.amounts.empty()) {
    for (const fabric::NodeIndex gpu : after.gpus()) {
      const auto node = before.find(after.nodes()[gpu].id);
      request.amounts.push_back(node ? old.amounts[before.nodes()[*node].rank] : 0);
    }
  }
  return request;
}

void requireRepairable(const Fabric& before, const Schedule& old, const Fabric& after) {
  if (old.overlapped) {
    refuse(ErrorCode::badUsage, "the halves of this allreduce run at the same time, which cannot be repaired",
           "generate it with --plain-switches and without overlap, or give the fabric alone");
  }
  for (const auto* forest : {&old.reduceForest, &old.broadcastForest}) {
    if (*forest && std::ranges::any_of((*forest)->edges, [](const schedule::TreeEdge& e) { return e.pruned > 0; })) {
      refuse(ErrorCode::badUsage, "switches copy or sum in these trees, which cannot be repaired",
             "generate with --plain-switches");
    }
  }
  for (const fabric::NodeIndex gpu : after.gpus()) {
    const std::string& id = after.nodes()[gpu].id;
    const auto node = before.find(id);
    if (!node || before.nodes()[*node].kind != fabric::NodeKind::gpu) {
      refuse(ErrorCode::badUsage, "GPU " + inQuotes(id) + " was not there before", "repair after failures only");
    }
  }
}

std::vector<int64_t> demandOf(const Request& request, const Fabric& after) {
  if (!request.amounts.empty()) {
    return request.amounts;
  }
  std::vector<int64_t> demand(static_cast<std::size_t>(after.gpuCount()), request.root ? 0 : 1);
  if (request.root) {
    demand[*request.root] = 1;
  }
  return demand;
}

void addCount(RepairCount& sum, const RepairCount& count, const Rational& weight) {
  sum.unaffectedTrees += count.unaffectedTrees;
  sum.keptTrees += count.keptTrees;
  sum.reroutedTrees += count.reroutedTrees;
  sum.newTrees += count.newTrees;
  sum.unaffected += count.unaffected * weight;
  sum.kept += count.kept * weight;
  sum.rerouted += count.rerouted * weight;
}

class Repair {
public:
  Repair(const Fabric& before, const Schedule& old, const Fabric& after, const RepairOptions& options,
         const Progress& progress)
      : m_before(before),
        m_old(old),
        m_after(after),
        m_options(options),
        m_progress(progress),
        m_request(requestOf(before, old, after)),
        m_demand(demandOf(m_request, after)) {}

  Repaired run() {
    Schedule& schedule = m_result.schedule;
    schedule.collective = m_old.collective;
    schedule.fabricName = m_after.name();
    schedule.fabricDigest = m_after.digest();
    schedule.root = m_request.root;
    schedule.amounts = m_request.amounts;
    const int halves = m_old.reduceForest && m_old.broadcastForest ? 2 : 1;
    if (m_old.broadcastForest) {
      repairOut(halves);
    }
    if (m_old.reduceForest && !reuseOut()) {
      repairIn(halves);
    }
    schedule.bound = m_boundTime.inverse();
    schedule.algbw = m_time.inverse();
    m_result.optimum = schedule.bound;
    m_result.keepingAll = m_keepingTime.inverse();
    if (schedule.algbw < schedule.bound) {
      schedule::stateFixedK(schedule);
    }
    return std::move(m_result);
  }

private:
  [[nodiscard]] Optimum optimumOf(Collective collective) const {
    Request request = m_request;
    request.collective = collective;
    return orThrow(forestcoll::optimum(m_after, request, m_progress));
  }
  [[nodiscard]] Forest written(const Forest& forest) const {
    return orThrow(schedule::expanded(forest, m_before, m_options.maxTreeBytes, m_progress));
  }

  [[nodiscard]] const LockedTrees* lockedOf(std::size_t half) const {
    return m_options.locked ? &(*m_options.locked)[half] : nullptr;
  }
  [[nodiscard]] bool hasEqualLocks() const {
    return !m_options.locked || (*m_options.locked)[0] == (*m_options.locked)[1];
  }

  void repairOut(int halves) {
    const bool isHalf = halves == 2;
    const Optimum best = optimumOf(isHalf ? Collective::allgather : m_old.collective);
    const Forest old = written(*m_old.broadcastForest);
    m_out = repairHalf({m_before, old, m_after, m_demand, best, lockedOf(1)}, m_options, m_progress);
    add(*m_out, best, halves);
    m_result.schedule.broadcastForest = m_out->forest;
    m_best = best;
  }

  /// An allreduce whose first half is its second one turned round, on links that are equal in both directions.
  bool reuseOut() {
    const bool isMirrored = m_out && isSymmetric(m_after) && hasEqualLocks() &&
                            *m_old.reduceForest == schedule::reversed(*m_old.broadcastForest);
    if (isMirrored) {
      add(*m_out, m_best, 2);
      m_result.schedule.reduceForest = schedule::reversed(m_out->forest);
    }
    return isMirrored;
  }

  void repairIn(int halves) {
    const bool isHalf = halves == 2;
    const Optimum best = optimumOf(isHalf ? Collective::reduceScatter : m_old.collective);
    const Forest old = schedule::reversed(written(*m_old.reduceForest));
    const Fabric before = m_before.transposed();
    const Fabric after = m_after.transposed();
    RepairedHalf half = repairHalf({before, old, after, m_demand, best, lockedOf(0)}, m_options, m_progress);
    add(half, best, halves);
    m_result.schedule.reduceForest = schedule::reversed(half.forest);
  }

  void add(const RepairedHalf& half, const Optimum& best, int halves) {
    addCount(m_result.count, half.count, Rational(1, halves));
    m_time += half.forest.algbw().inverse();
    m_keepingTime += half.keepingAll.inverse();
    m_boundTime += best.algbw.inverse();
    if (m_result.schedule.bottlenecks.empty() || best.algbw < m_slowest) {
      m_slowest = best.algbw;
      m_result.schedule.bottlenecks = best.bottlenecks;
    }
  }

  static bool isSymmetric(const Fabric& fabric) {
    return std::ranges::all_of(fabric.arcs(), [&](const fabric::Arc& arc) {
      const auto back = fabric.findArc(arc.head, arc.tail);
      return back && fabric.arcs()[*back].bandwidth == arc.bandwidth;
    });
  }

  const Fabric& m_before;
  const Schedule& m_old;
  const Fabric& m_after;
  const RepairOptions& m_options;
  const Progress& m_progress;
  Request m_request;
  std::vector<int64_t> m_demand;
  Repaired m_result;
  std::optional<RepairedHalf> m_out;
  Optimum m_best;
  InverseBandwidth m_time;
  InverseBandwidth m_keepingTime;
  InverseBandwidth m_boundTime;
  Bandwidth m_slowest;
};

/// Where nothing can be packed beside the trees that stay.
Repaired generatedAfresh(const Fabric& before, const Schedule& old, const Fabric& after, const RepairOptions& options,
                         const Progress& progress) {
  Request request = requestOf(before, old, after);
  request.heightEffort = options.heightEffort;
  request.maxTreeBytes = options.maxTreeBytes;
  Repaired result;
  result.schedule = orThrow(generate(after, request, progress)).schedule;
  result.optimum = result.schedule.algbw;
  result.isFromNothing = true;
  for (const auto* forest : {&result.schedule.reduceForest, &result.schedule.broadcastForest}) {
    result.count.newTrees += *forest ? schedule::sizeOf(**forest).trees : 0;
  }
  return result;
}

}  // namespace

Result<Repaired> repaired(const Fabric& before, const Schedule& old, const Fabric& after, const RepairOptions& options,
                          const Progress& progress) {
  return guarded<Repaired>(Request{.collective = old.collective, .amounts = old.amounts}, [&] {
    requireRepairable(before, old, after);
    try {
      return Repair(before, old, after, options, progress).run();
    } catch (const Failure& failure) {
      if (options.locked || (failure.error.code != ErrorCode::unbalanced && failure.error.code != ErrorCode::limit)) {
        throw;
      }
      return generatedAfresh(before, old, after, options, progress);
    }
  });
}

}  // namespace coppice::forestcoll
