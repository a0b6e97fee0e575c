// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/compare/compare_panel.hpp"
#include "designer/compare/side_by_side.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/trees/chart_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// The schedules of a document held against each other.
class CompareFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives what is compared @param treeCounts is one of the views
  CompareFeature(const FeatureHost& host, ScheduleFeature& schedules, ChartPanel& treeCounts);

private:
  void addActions();
  void exportPlan();
  void savePicture();
  /// The chosen schedules of the dock, else those that were there last.
  void showSideBySide();
  /// Those that answer the question of the current schedule: same collective, root, GPUs and fabric.
  void follow();

  ScheduleFeature& m_schedules;
  ComparePanel* m_panel;
  SideBySide* m_sides;
};

}  // namespace coppice::designer
