// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMenu>
#include <QPointer>
#include <optional>

#include "designer/schedules/schedule_feature.hpp"
#include "designer/trees/edge_preview.hpp"
#include "designer/trees/trees_feature.hpp"
#include "designer/workspace/feature.hpp"
#include "schedule/tree_edit.hpp"

namespace coppice::designer {

/// Trees changed by hand: another parent for a GPU of a tree, or another route for its edge, and the rest generated
/// around trees that are locked. Each result is one more schedule of the document, so that the list of schedules is the
/// way back.
class SculptFeature : public Feature {
  Q_OBJECT

public:
  SculptFeature(const FeatureHost& host, ScheduleFeature& schedules, const TreesFeature& trees);

private:
  void follow();
  void update();
  void lockChosen();
  /// Edges are dragged on the drawing, or nodes are selected again.
  void setDragging(bool isDragging);
  /// The tree whose edges are dragged in that document; nullopt, with a reason, where there is none.
  [[nodiscard]] Result<TreeRef> draggedTree(const EditorContext& context) const;
  /// The edge would be dropped there; invalid: nowhere.
  void preview(EditorContext& context, const ElementId& from, const ElementId& over);
  void drop(EditorContext& context, const ElementId& from, const ElementId& to);
  /// Lists the GPUs that may become the parent, beside the row.
  void offerParents();
  void giveParent(const TreeRef& tree, const schedule::NewParent& change);
  void generateAround();
  void show(int id);
  /// The current schedule with trees of the fabric as it is; nullptr = none.
  [[nodiscard]] const ScheduleEntry* base() const;

  ScheduleFeature& m_schedules;
  TreePanel& m_trees;
  QMenu* m_parents;  ///< of the GPU whose row was chosen last
  EdgePreview m_preview;
  QPointer<ScheduleBook> m_book;
  QMetaObject::Connection m_finished;
  bool m_isWanted = false;           ///< the next schedule that is finished is the one made here
  ScheduleResultPtr m_from;          ///< what it was made from
  std::optional<TreeRef> m_changed;  ///< its tree of which a copy is changed
};

}  // namespace coppice::designer
