// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <memory>
#include <set>

#include "designer/schedule/schedule_activity.hpp"
#include "designer/sketch/sketch_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Communication sketches: drawn on the fabric, kept as files, and searched for schedules.
class SketchFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules takes what a search finds, and draws the sketch in place of its own
  SketchFeature(const FeatureHost& host, ScheduleActivity& schedules);
  [[nodiscard]] SketchPanel& panel() { return *m_panel; }

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
  void open();
  void save();
  void saveTopology();
  /// The selected GPUs by their number within a box.
  [[nodiscard]] std::set<int> selectedGpus() const;
  void makeRelays(bool areSenders);
  void makeSwitch();
  void take(EditorContext& context, SketchDesk& desk);

  ScheduleActivity& m_schedules;
  SketchPanel* m_panel;
  bool m_isInFront = false;
  std::unique_ptr<QObject> m_followed;  ///< ends the connections to the current document
};

}  // namespace coppice::designer
