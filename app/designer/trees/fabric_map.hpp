// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/document/model.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/trees/transfer_model.hpp"
#include "designer/trees/tree_model.hpp"
#include "schedule/arc_finder.hpp"

namespace coppice::designer {

/// Which elements of a document the nodes and arcs of a schedule's fabric are, by name. What no longer exists has
/// no element.
class FabricMap {
public:
  FabricMap(const fabric::Fabric& fabric, const Model& model);
  FabricMap(const ScheduleResult& result, const Model& model) : FabricMap(*result.fabric, model) {}

  /// The first of the parallel links that run from tail to head; invalid where there is none.
  [[nodiscard]] LinkStep stepOf(fabric::NodeIndex tail, fabric::NodeIndex head) const;
  /// All of them, of the arc with that index.
  [[nodiscard]] const std::vector<LinkStep>& stepsOf(std::size_t arc) const { return m_steps[arc]; }
  [[nodiscard]] NodeId nodeOf(fabric::NodeIndex node) const { return m_nodes[node]; }

private:
  schedule::ArcFinder m_arcs;
  std::vector<NodeId> m_nodes;                 ///< by node of the fabric
  std::vector<std::vector<LinkStep>> m_steps;  ///< by arc
};

/// The tree along its physical routes, without what multicast saves, with the own copies of the schedule and the
/// switches that sum or copy in it.
[[nodiscard]] TreeMark markOf(const ScheduleResult& result, schedule::TreeReader& reader, const TreeRef& tree,
                              const FabricMap& map);
/// The transfers of a step schedule along their routes: those with the given indices one by one where there are any.
/// Else those that the model's filter lets through: of one step by shard, of one shard by step, or together where that
/// is too many marks. `note` ends each label. Empty where nothing is chosen.
[[nodiscard]] std::vector<TreeMark> transferMarks(const TransferModel& model, const std::vector<std::size_t>& chosen,
                                                  const FabricMap& map, const QString& note);
/// Loads of all links, as the canvas paints them.
[[nodiscard]] Heat heatOf(const ScheduleResult& result, const FabricMap& map);

}  // namespace coppice::designer
