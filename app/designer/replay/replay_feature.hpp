// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/playback/timeline_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// File > Export Replay: the run that is played, as one HTML file.
class ReplayFeature : public Feature {
  Q_OBJECT

public:
  /// @param timeline has the run
  ReplayFeature(const FeatureHost& host, ScheduleFeature& schedules, TimelinePanel& timeline);

private:
  void save();

  TimelinePanel& m_timeline;
};

}  // namespace coppice::designer
