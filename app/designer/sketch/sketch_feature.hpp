// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <set>

#include "designer/document/followed.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/sketch/sketch_panel.hpp"
#include "designer/theme/seen.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Communication sketches: drawn on the fabric, kept as files, and searched for schedules.
class SketchFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules takes what a search finds, and draws the sketch in place of its own
  SketchFeature(const FeatureHost& host, ScheduleFeature& schedules);
  [[nodiscard]] SketchPanel& panel() { return *m_panel; }
  /// A communication sketch, where a document is open, goes into its dock. Returns whether the file was one.
  bool take(const QString& path);

private:
  void addFileActions();
  void addDrawingActions();
  void addSearchActions();
  void follow();
  void followSelection();
  void updateActions();
  /// Relays, links and orbit on the drawing, while the dock is in front.
  void show();
  void bring();
  void propose();
  /// The first sketch of a document begins with the collective that the bound is about.
  void askAsBound(SketchDesk& desk);
  void open();
  void save();
  void saveTopology();
  /// The selected GPUs by their number within a box.
  [[nodiscard]] std::set<int> selectedGpus() const;
  void makeRelays(bool areSenders);
  /// What a gesture from one GPU to another means for the sketch.
  /// The same tool changes a tree of the schedule.
  [[nodiscard]] bool isTreeDragged() const;
  void point(const EditorContext& context, NodeId from, NodeId to);
  void setPointing(bool isPointing);
  void openFile(SketchDesk& desk, const QString& path);
  void makeSwitch();
  void take(EditorContext& context, SketchDesk& desk);

  ScheduleFeature& m_schedules;
  SketchPanel* m_panel;
  Seen m_seen;
  Followed m_followed;  ///< connections to the current document
};

}  // namespace coppice::designer
