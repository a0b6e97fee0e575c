// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/rows.hpp"
#include "baselines/baselines.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"

/// Baselines that are made of trees, whose edges meet in switches that copy and sum.
namespace coppice::baselines {

/// Shortest routes from a GPU to others in the direction of trees (to the GPU where they run to their roots), through
/// relays. The routes from one start share their links as far as they can; among equally short ones, each new link is
/// the one that the starts before it used least for its bandwidth.
class TreeRoutes {
public:
  /// The fabric must outlive it.
  TreeRoutes(const fabric::Fabric& fabric, schedule::Direction direction);

  /// @param isRelay which nodes that are no GPUs a route may pass
  void startAt(fabric::Rank root, const std::function<bool(const fabric::Node&)>& isRelay);
  /// Both ends included, in the direction of the data. Empty where no route is.
  [[nodiscard]] std::vector<fabric::NodeIndex> to(fabric::Rank gpu);

private:
  const fabric::Fabric& m_fabric;
  bool m_isOut;
  Rows<std::int32_t> m_next;        ///< arcs by node, away from roots
  Rows<std::int32_t> m_back;        ///< arcs by node, towards roots
  std::vector<std::int64_t> m_use;  ///< by arc: starts whose routes take it
  fabric::NodeIndex m_root = -1;
  std::vector<std::int32_t> m_hops;   ///< by node; -1 = not reached
  std::vector<std::int32_t> m_taken;  ///< by node: the arc through which routes of this start reach it; -1 = none yet
};

/// Writes the trees of one direction.
class ForestBuilder {
public:
  /// The fabric must outlive it.
  ForestBuilder(const fabric::Fabric& fabric, schedule::Direction direction);

  /// The edges that follow belong to it, parents before children.
  void startTree(fabric::Rank root);
  /// Between GPUs of one box through its capable switches where they join the two, else through all its relays where
  /// these do. Throws Failure where only other GPUs join the two.
  void addEdge(fabric::Rank parent, fabric::Rank child);
  [[nodiscard]] schedule::Forest& forest() { return m_forest; }

private:
  const fabric::Fabric& m_fabric;
  schedule::Forest m_forest;
  TreeRoutes m_between;
  TreeRoutes m_insideBoxes;
  fabric::Rank m_startedAt = -1;                        ///< where m_between starts; -1 = nowhere
  std::vector<std::vector<schedule::PathId>> m_inside;  ///< by parent, then child; kNoRoute; empty until asked for
};

/// Which edges of a tree may meet in capable switches.
struct Meetings {
  bool inside = true;   ///< between GPUs of one box
  bool between = true;  ///< between boxes
};

/// forestcoll::pruneInNetwork among these edges.
void prune(const fabric::Fabric& fabric, schedule::Forest& forest, Meetings meetings);

/// The schedule of these forests, as fast as its busiest link allows. The halves of an allreduce run at the same time;
/// its bound is left open. Throws Failure, OverflowError, CancelledError.
[[nodiscard]] schedule::Schedule scheduleOf(const fabric::Fabric& fabric, const Request& request,
                                            std::optional<schedule::Forest> reduce,
                                            std::optional<schedule::Forest> broadcast, bool ownCopies,
                                            const Progress& progress);

}  // namespace coppice::baselines
