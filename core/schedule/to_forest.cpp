// SPDX-License-Identifier: Apache-2.0
#include "schedule/to_forest.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/rows.hpp"
#include "base/text.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/transfer_order.hpp"

namespace coppice::schedule {
namespace {

using fabric::Rank;
using std::int64_t;

/// How a rank is joined to its parent.
struct Hop {
  Rank parent = -1;
  PathId route = kNoRoute;
};

/// The trees of one direction, equal ones once.
class Collector {
public:
  Collector(const fabric::Fabric& fabric, const PathPool& paths, Direction direction, int64_t maxEdges)
      : m_fabric(fabric), m_paths(paths), m_maxEdges(maxEdges) {
    m_forest.direction = direction;
    m_forest.gpuCount = fabric.gpuCount();
    m_forest.treesOfRoot.assign(fabric.gpuCount(), 0);
    m_useOfRoute.assign(paths.size(), 0);
    m_newRoute.assign(paths.size(), kNoRoute);
  }

  /// `hops` by rank; the root has no parent. False where some rank is not joined to the root.
  [[nodiscard]] bool add(Rank root, int64_t multiplicity, const std::vector<Hop>& hops) {
    if (!orderEdges(root, hops)) {
      return false;
    }
    m_forest.treesOfRoot[root] = checkedAdd(m_forest.treesOfRoot[root], multiplicity);
    for (const TreeEdge& edge : m_order) {
      m_useOfRoute[edge.path] = checkedAdd(m_useOfRoute[edge.path], multiplicity);
    }
    std::vector<std::size_t>& alike = m_known[hashOf(root)];
    for (const std::size_t tree : alike) {
      if (m_forest.trees[tree].root == root && std::ranges::equal(m_forest.edgesOf(m_forest.trees[tree]), m_order)) {
        m_forest.trees[tree].multiplicity += multiplicity;
        return true;
      }
    }
    const auto first = static_cast<int64_t>(m_forest.edges.size());
    if (first + static_cast<int64_t>(m_order.size()) > m_maxEdges) {
      throw Failure{{ErrorCode::limit,
                     "The trees of this schedule have more than " + std::to_string(m_maxEdges) +
                         " edges in all, more than a forest holds",
                     "keep it as a schedule of steps, or cut each shard into fewer chunks"}};
    }
    alike.push_back(m_forest.trees.size());
    m_forest.trees.push_back({root, multiplicity, first});
    m_forest.edges.insert(m_forest.edges.end(), m_order.begin(), m_order.end());
    return true;
  }

  /// The greatest number that divides all multiplicities, and `divisor`.
  [[nodiscard]] int64_t commonDivisor(int64_t divisor) const {
    for (const Tree& tree : m_forest.trees) {
      divisor = std::gcd(divisor, tree.multiplicity);
    }
    return divisor;
  }

  /// Trees that cross each arc, before they are divided.
  [[nodiscard]] std::vector<int64_t> loads() const {
    const ArcFinder arcs(m_fabric, Direction::out);  // routes run as the data does
    std::vector<int64_t> load(m_fabric.arcs().size(), 0);
    for (std::size_t route = 0; route < m_useOfRoute.size(); ++route) {
      const auto nodes = m_paths[static_cast<PathId>(route)];
      for (std::size_t i = 1; m_useOfRoute[route] > 0 && i < nodes.size(); ++i) {
        const std::int32_t arc = arcs.find(nodes[i - 1], nodes[i]);
        if (arc == kNoArc) {
          throw Failure{{ErrorCode::badUsage,
                         "Route " + std::to_string(route) + " of the schedule leaves the links of the fabric",
                         "verify the schedule first"}};
        }
        load[arc] = checkedAdd(load[arc], m_useOfRoute[route]);
      }
    }
    return load;
  }

  /// @param load that the links have while the forest runs, before the division
  Forest finish(int64_t divisor, const std::vector<int64_t>& load) {
    for (Tree& tree : m_forest.trees) {
      tree.multiplicity /= divisor;
    }
    for (int64_t& trees : m_forest.treesOfRoot) {
      trees /= divisor;
    }
    std::stable_sort(m_forest.trees.begin(), m_forest.trees.end(),
                     [](const Tree& a, const Tree& b) { return a.root < b.root; });
    m_forest.scale = busiest(load, divisor);
    for (std::size_t route = 0; route < m_useOfRoute.size(); ++route) {
      if (m_useOfRoute[route] > 0) {
        m_newRoute[route] = m_forest.paths.add(m_paths[static_cast<PathId>(route)]);
      }
    }
    for (TreeEdge& edge : m_forest.edges) {
      edge.path = m_newRoute[edge.path];
    }
    return std::move(m_forest);
  }

private:
  /// Breadth first; children of one parent by rank.
  bool orderEdges(Rank root, const std::vector<Hop>& hops) {
    const auto count = hops.size();
    m_children.assign(count, [&](const auto& add) {
      for (std::size_t rank = 0; rank < count; ++rank) {
        if (hops[rank].parent >= 0) {
          add(hops[rank].parent, static_cast<Rank>(rank));
        }
      }
    });
    m_order.clear();
    const auto addChildren = [&](Rank parent) {
      for (const Rank child : m_children[parent]) {
        m_order.push_back({parent, child, hops[child].route, 0});
      }
    };
    if (hops[root].parent >= 0) {
      return false;
    }
    addChildren(root);
    // Parents are unique, so that no rank comes twice.
    for (std::size_t i = 0; i < m_order.size(); ++i) {
      addChildren(m_order[i].child);
    }
    return m_order.size() + 1 == count;
  }

  [[nodiscard]] std::uint64_t hashOf(Rank root) const {
    // FNV-1a
    std::uint64_t hash = 0xcbf29ce484222325U ^ static_cast<std::uint64_t>(root);
    for (const TreeEdge& edge : m_order) {
      for (const int value : {edge.parent, edge.child, edge.path}) {
        hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3U;
      }
    }
    return hash;
  }

  /// The largest load / bandwidth, in trees per GB/s.
  [[nodiscard]] InverseBandwidth busiest(const std::vector<int64_t>& load, int64_t divisor) const {
    InverseBandwidth busiest;
    for (std::size_t arc = 0; arc < load.size(); ++arc) {
      busiest = std::max(busiest, Rational(load[arc] / divisor) / m_fabric.arcs()[arc].bandwidth);
    }
    return busiest;
  }

  const fabric::Fabric& m_fabric;
  const PathPool& m_paths;
  int64_t m_maxEdges;
  Forest m_forest;
  std::vector<int64_t> m_useOfRoute;
  std::vector<PathId> m_newRoute;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> m_known;  ///< trees by hash
  std::vector<TreeEdge> m_order;
  Rows<Rank> m_children;
};

class TreesOfSteps {
public:
  TreesOfSteps(const fabric::Fabric& fabric, const StepSchedule& schedule, int64_t maxEdges, const Progress& progress)
      : m_fabric(fabric),
        m_schedule(schedule),
        m_progress(progress),
        m_collective(schedule.goal.collective()),
        m_reduced(fabric, schedule.paths, Direction::in, maxEdges),
        m_stored(fabric, schedule.paths, Direction::out, maxEdges) {}

  Schedule run() {
    const auto byShard = transfersByShard(m_schedule);
    const int64_t shards = m_schedule.goal.shardCount();
    for (int64_t shard = 0; shard < shards; ++shard) {
      throwIfCancelled(m_progress);
      m_progress.report("trees", static_cast<double>(shard) / static_cast<double>(shards));
      if (amountOf(shard) > 0) {
        addShard(shard, byShard[shard]);
      }
    }
    return assemble();
  }

private:
  [[nodiscard]] bool isReducing() const { return reduces(m_collective); }
  [[nodiscard]] bool isStoring() const {
    return m_collective != Collective::reduceScatter && m_collective != Collective::reduce;
  }
  [[nodiscard]] int64_t amountOf(int64_t shard) const {
    const auto amounts = m_schedule.goal.amounts();
    return amounts.empty() ? 1 : amounts[shard];
  }
  [[nodiscard]] std::string nameOf(Rank rank) const { return inQuotes(m_fabric.nodes()[m_fabric.gpus()[rank]].id); }

  [[noreturn]] static void fail(const std::string& text) {
    throw Failure{{ErrorCode::badUsage, "The schedule has no trees: " + text,
                   "keep it as a schedule of steps; every piece of a forest travels on one spanning tree"}};
  }

  void addShard(int64_t shard, std::span<const std::uint32_t> transfers) {
    const PieceGrid grid = pieceGrid(m_schedule, transfers);
    int64_t covered = 0;
    for (std::size_t i = 0; i < grid.transfers.rowCount(); ++i) {
      const int64_t length = grid.points[i + 1] - grid.points[i];
      if (length > 0 && !grid.transfers[i].empty()) {
        addInterval(shard, grid.transfers[i], length);
        covered += length;
      }
    }
    if (covered != m_schedule.denominator && m_fabric.gpuCount() > 1) {
      fail("part of shard " + std::to_string(shard) + " is not sent at all");
    }
  }

  void addInterval(int64_t shard, std::span<const std::uint32_t> transfers, int64_t length) {
    const auto ranks = static_cast<std::size_t>(m_fabric.gpuCount());
    m_up.assign(isReducing() ? ranks : 0, {});
    m_down.assign(isStoring() ? ranks : 0, {});
    for (const std::uint32_t i : transfers) {
      const Transfer transfer = m_schedule.transfers[i];
      if (transfer.reduces ? m_up.empty() : m_down.empty()) {
        fail(std::string(toString(m_collective)) + (transfer.reduces ? " reduces nothing" : " stores nothing") +
             ", and transfer " + std::to_string(i) + " does");
      }
      const Rank child = transfer.reduces ? transfer.from : transfer.to;
      Hop& hop = transfer.reduces ? m_up[child] : m_down[child];
      if (hop.parent >= 0) {
        fail(nameOf(child) + (transfer.reduces ? " sends" : " gets") + " the same piece of shard " +
             std::to_string(shard) + " twice");
      }
      hop = {transfer.reduces ? transfer.to : transfer.from, transfer.route};
    }
    const Rank root = rootOfInterval(shard);
    const int64_t multiplicity = checkedMul(length, amountOf(shard));
    if ((isReducing() && !m_reduced.add(root, multiplicity, m_up)) ||
        (isStoring() && !m_stored.add(root, multiplicity, m_down))) {
      fail("a piece of shard " + std::to_string(shard) + " does not reach every GPU from " + nameOf(root));
    }
  }

  /// The owner of the piece: in an allreduce the rank that sends its sums to no other.
  [[nodiscard]] Rank rootOfInterval(int64_t shard) const {
    if (m_collective != Collective::allreduce) {
      return ownerOf(m_schedule.goal, shard);
    }
    const auto root = std::find_if(m_up.begin(), m_up.end(), [](const Hop& hop) { return hop.parent < 0; });
    if (root == m_up.end()) {
      fail("every GPU sends its sums on");
    }
    return static_cast<Rank>(root - m_up.begin());
  }

  Schedule assemble() {
    Schedule result;
    result.collective = m_collective;
    result.fabricName = m_schedule.fabricName;
    result.fabricDigest = m_schedule.fabricDigest;
    result.root = m_schedule.goal.root();
    result.amounts.assign(m_schedule.goal.amounts().begin(), m_schedule.goal.amounts().end());
    int64_t divisor = isReducing() ? m_reduced.commonDivisor(0) : 0;
    divisor = isStoring() ? m_stored.commonDivisor(divisor) : divisor;
    result.overlapped = isOverlapped();
    std::vector<int64_t> shared;
    if (result.overlapped) {
      shared = m_reduced.loads();
      const std::vector<int64_t> stored = m_stored.loads();
      std::transform(shared.begin(), shared.end(), stored.begin(), shared.begin(), checkedAdd<int64_t>);
    }
    InverseBandwidth time;
    for (const bool isReduced : {true, false}) {
      if (!(isReduced ? isReducing() : isStoring())) {
        continue;
      }
      auto& forest = isReduced ? result.reduceForest : result.broadcastForest;
      Collector& half = isReduced ? m_reduced : m_stored;
      forest = half.finish(divisor, result.overlapped ? shared : half.loads());
      if (result.overlapped) {
        time = forest->algbw().inverse();  // of both, which share the links
        continue;
      }
      result.fixedK = treesPerAmount(*forest, result);
      time += forest->algbw().inverse();
    }
    result.algbw = time.inverse();
    return result;
  }

  /// An allreduce whose sums and results travel at the same time.
  [[nodiscard]] bool isOverlapped() const {
    const auto steps = m_schedule.transfers.steps();
    return m_collective == Collective::allreduce && !m_schedule.isSynchronous && !steps.empty() &&
           steps.front() == steps.back();
  }

  /// Trees of a root per unit of its data.
  [[nodiscard]] int64_t treesPerAmount(const Forest& forest, const Schedule& schedule) const {
    int64_t common = 0;
    for (Rank rank = 0; rank < forest.gpuCount; ++rank) {
      const int64_t amount = schedule.root              ? (rank == *schedule.root ? 1 : 0)
                             : schedule.amounts.empty() ? 1
                                                        : schedule.amounts[rank];
      const int64_t trees = forest.treesOfRoot[rank];
      if (amount == 0 && trees == 0) {
        continue;
      }
      common = common == 0 && amount > 0 ? trees / amount : common;
      if (trees != checkedMul(common, amount)) {
        fail("its pieces are not owned evenly, " + nameOf(rank) + " owns " + std::to_string(trees) + " of " +
             std::to_string(forest.treeCount()));
      }
    }
    return common;
  }

  const fabric::Fabric& m_fabric;
  const StepSchedule& m_schedule;
  const Progress& m_progress;
  Collective m_collective;
  Collector m_reduced;
  Collector m_stored;
  std::vector<Hop> m_up;
  std::vector<Hop> m_down;
};

bool hasAllRoutes(const StepSchedule& schedule) {
  const auto routes = schedule.transfers.routes();
  return std::find(routes.begin(), routes.end(), kNoRoute) == routes.end();
}

}  // namespace

Result<Schedule> forestOf(const fabric::Fabric& fabric, const StepSchedule& schedule, int64_t maxEdges,
                          const Progress& progress) {
  const Collective collective = schedule.goal.collective();
  if (std::find(kForestCollectives.begin(), kForestCollectives.end(), collective) == kForestCollectives.end()) {
    return Error{ErrorCode::badUsage, "A forest cannot represent " + std::string(toString(collective)),
                 "trees are made for allgather, reduce_scatter, allreduce, broadcast and reduce"};
  }
  try {
    if (hasAllRoutes(schedule)) {
      return TreesOfSteps(fabric, schedule, maxEdges, progress).run();
    }
    StepSchedule routed = schedule;
    if (const Outcome added = addRoutes(fabric, routed); !added) {
      return added.error();
    }
    return TreesOfSteps(fabric, routed, maxEdges, progress).run();
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const PieceLimitReached&) {
    return Error{ErrorCode::limit, "The transfers overlap too often to be sorted into trees",
                 "keep it as a schedule of steps"};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The trees of the schedule leave the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::schedule
