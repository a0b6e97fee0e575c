// SPDX-License-Identifier: Apache-2.0
#include "schedule/from_forest.hpp"

#include <limits>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "schedule/route_index.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

using fabric::Rank;
using std::int64_t;

struct IsPruned {};

class Conversion {
public:
  Conversion(const fabric::Fabric& fabric, const Schedule& schedule, int pieces, const Progress& progress)
      : m_fabric(fabric), m_schedule(schedule), m_pieces(pieces), m_progress(progress) {}

  StepSchedule run(CollectiveTable goal) {
    m_result.goal = std::move(goal);
    m_result.method = "forest";
    m_result.fabricName = m_schedule.fabricName;
    m_result.fabricDigest = m_schedule.fabricDigest;
    m_result.isSynchronous = false;
    m_result.algbw = m_schedule.algbw;
    for (const auto* forest : {&m_schedule.reduceForest, &m_schedule.broadcastForest}) {
      if (*forest) {
        includeDenominator(**forest);
      }
    }
    m_result.stepCount = 0;
    for (const auto* forest : {&m_schedule.reduceForest, &m_schedule.broadcastForest}) {
      if (*forest) {
        addForest(**forest);
        m_result.stepCount += m_schedule.overlapped ? 0 : 1;
      }
    }
    m_result.stepCount += m_schedule.overlapped ? 1 : 0;
    m_result.paths = m_routes.takePaths();
    return std::move(m_result);
  }

private:
  /// One shard of the whole, which the trees of all roots cut; otherwise each root has its own shard.
  [[nodiscard]] bool isOneShard() const { return m_result.goal.shardCount() == 1; }

  void includeDenominator(const Forest& forest) {
    const auto include = [&](int64_t trees) {
      m_result.denominator = leastCommonMultiple(m_result.denominator, checkedMul(trees, int64_t{m_pieces}));
    };
    if (isOneShard()) {
      include(forest.treeCount());
      return;
    }
    for (const int64_t trees : forest.treesOfRoot) {
      if (trees > 0) {
        include(trees);
      }
    }
  }

  void addForest(const Forest& forest) {
    TreeReader reader(forest);
    const int64_t total = forest.treeCount();
    std::vector<int64_t> next(m_fabric.gpuCount(), 0);  // by root: the next tree's number
    if (isOneShard()) {
      for (Rank rank = 1; rank < m_fabric.gpuCount(); ++rank) {
        next[rank] = next[rank - 1] + forest.treesOfRoot[rank - 1];
      }
    }
    for (int64_t tree = 0; tree < reader.size(); ++tree) {
      throwIfCancelled(m_progress);
      m_progress.report("converting", static_cast<double>(tree) / static_cast<double>(reader.size()));
      const TreeReader::View view = reader.read(tree);
      const int64_t trees = isOneShard() ? total : forest.treesOfRoot[view.root];
      const int64_t unit = m_result.denominator / trees;
      const int64_t begin = next[view.root] * unit;
      next[view.root] += view.multiplicity;
      addTree(forest, reader, view, begin, view.multiplicity * unit);
    }
  }

  void addTree(const Forest& forest, TreeReader& reader, const TreeReader::View& view, int64_t begin, int64_t length) {
    const bool isIn = forest.direction == Direction::in;
    const auto edges = view.edges;
    for (int piece = 0; piece < m_pieces; ++piece) {
      // length = multiplicity * denominator / trees, which the pieces divide.
      const int64_t first = begin + length / m_pieces * piece;
      for (std::size_t i = 0; i < edges.size(); ++i) {
        const TreeEdge& edge = isIn ? edges[edges.size() - 1 - i] : edges[i];
        if (edge.pruned != 0) {
          throw IsPruned{};
        }
        m_result.transfers.add({.shard = isOneShard() ? 0 : view.root,
                                .begin = first,
                                .end = first + length / m_pieces,
                                .from = isIn ? edge.child : edge.parent,
                                .to = isIn ? edge.parent : edge.child,
                                .route = m_routes.idOf(reader.path(edge)),
                                .step = m_result.stepCount,
                                .reduces = isIn});
      }
    }
  }

  const fabric::Fabric& m_fabric;
  const Schedule& m_schedule;
  int m_pieces = 1;
  const Progress& m_progress;
  StepSchedule m_result;
  RouteIndex m_routes;
};

}  // namespace

Result<StepSchedule> stepScheduleOf(const fabric::Fabric& fabric, const Schedule& schedule, int piecesPerTree,
                                    const Progress& progress) {
  if (piecesPerTree < 1) {
    return Error{ErrorCode::badUsage, "A tree needs at least one piece"};
  }
  try {
    int64_t transfers = 0;
    for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest) {
        transfers = checkedAdd(transfers, checkedMul(sizeOf(**forest).edges, int64_t{piecesPerTree}));
      }
    }
    if (transfers > std::numeric_limits<std::int32_t>::max()) {
      return Error{ErrorCode::limit, "The forest has " + std::to_string(transfers) + " transfers; 2^31 are possible",
                   "ask for fewer pieces per tree"};
    }
    auto goal = CollectiveTable::make(schedule.collective, fabric.gpuCount(), schedule.root, schedule.amounts);
    if (!goal) {
      return goal.error();
    }
    return Conversion(fabric, schedule, piecesPerTree, progress).run(std::move(*goal));
  } catch (const IsPruned&) {
    return Error{ErrorCode::badUsage,
                 "The forest uses multicast or aggregation in switches, which transfers cannot say",
                 "generate it with --plain-switches and without --prune"};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The pieces of the trees have no common denominator within 64 bits",
                 "generate with fewer trees per root (a smaller k)"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::schedule
