// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <memory>
#include <optional>
#include <string>

#include "designer/jobs/latest_job.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/run/measured_panel.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/theme/seen.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Plan against run: recorded runs on the clock of the timeline, and where they lost time on the drawing.
class MeasuredFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives what was planned, `timeline` shows both, `runs` gives what was recorded
  MeasuredFeature(const FeatureHost& host, ScheduleFeature& schedules, TimelinePanel& timeline, RunActivity& runs);

private:
  void addActions();
  void follow();
  void followRuns();
  void openRun();
  void paste();
  void setProfile(bool isWanted);
  void askAdditionTime();
  void showLoss();
  [[nodiscard]] std::optional<Overlay> lossOverlay();
  /// For comparisons; empty while there is none.
  [[nodiscard]] std::vector<ComparedSchedule> comparedRun() const;
  void goToChosen();

  struct ReadProfile {
    std::string digest;
    QString name;
    std::shared_ptr<const simulate::Fits> fits;
    QString problem;
  };
  ScheduleFeature& m_schedules;
  TimelinePanel& m_timeline;
  RunActivity& m_runs;
  MeasuredPanel* m_panel;
  ScheduleResultPtr m_result;
  bool m_hasOverlay = false;
  Seen m_seen;
  LatestJob<std::shared_ptr<const ReadProfile>> m_profileJob;
};

}  // namespace coppice::designer
