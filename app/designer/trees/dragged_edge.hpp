// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "base/result.hpp"
#include "designer/document/model.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/trees/tree_model.hpp"
#include "schedule/tree_edit.hpp"

namespace coppice::designer {

/// An edge of a tree that is dragged on the drawing, and what is to become of it.
struct DraggedEdge {
  schedule::NewParent change;
  QString title;  ///< "b1g3 below b0g2", "b1g3 through s1"
};

/// A GPU, or a link that one edge of the tree runs over, is dragged to another GPU, which becomes the parent, or to a
/// NIC, switch or link, through which the edge is led from now on. Errors: badUsage (what is dragged is no edge of the
/// tree, the target is none of the schedule), infeasible (no route leads through there).
/// @param from a node or a link of the model, as `to`
[[nodiscard]] Result<DraggedEdge> draggedEdge(const ScheduleResult& result, const TreeRef& tree, const Model& model,
                                              const ElementId& from, const ElementId& to);

}  // namespace coppice::designer
