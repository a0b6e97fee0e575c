// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "designer/program/program_panel.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// MSCCL XML of any origin, opened with or without a document.
class ProgramFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules finds out that a file is a program
  ProgramFeature(const FeatureHost& host, ScheduleActivity& schedules);
  [[nodiscard]] ProgramPanel& panel() const { return *m_panel; }

private:
  void addActions();
  void open(const QString& path, const std::string& xml);
  /// The dock comes to the front; with room for its lists if it was small.
  void showDock();
  void save(const QString& suggestion, const std::string& xml);

  /// The schedule that the other docks show, as the export would write it.
  void openSchedule();
  void follow();

  ScheduleActivity& m_schedules;
  ProgramPanel* m_panel;
};

}  // namespace coppice::designer
