// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/compare/traffic_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Who sends how much to whom in the current schedule.
class TrafficFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives the current schedule
  TrafficFeature(const FeatureHost& host, ScheduleFeature& schedules);

private:
  void follow();
  void select(const QStringList& names);
  void savePicture();

  ScheduleFeature& m_schedules;
  TrafficPanel* m_panel;
};

}  // namespace coppice::designer
