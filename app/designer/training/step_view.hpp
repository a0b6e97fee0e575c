// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>
#include <memory>

#include "designer/jobs/latest_job.hpp"
#include "designer/timeline/timeline_view.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

/// One step of a plan over time: what a GPU computes, and what is moved on each axis.
class StepView : public QWidget {
  Q_OBJECT

public:
  explicit StepView(QWidget* parent = nullptr);

  /// @param answer nullptr = none @param plan row; -1 = none. Computes it as soon as the view is seen.
  void show(const TrainingAnswerPtr& answer, int plan);

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Played {
    Result<training::StepTimeline> timeline;
    TimelineLanes lanes = {};
  };
  using PlayedPtr = std::shared_ptr<const Played>;
  [[nodiscard]] static TimelineLanes lanesOf(const training::StepTimeline& timeline);
  void ask();
  void take(const PlayedPtr& played);
  void tell(const TimelineBar* bar);

  TrainingAnswerPtr m_answer;
  int m_plan = -1;
  bool m_isDue = false;
  PlayedPtr m_played;
  QLabel* m_text;
  TimelineView* m_view;
  LatestJob<PlayedPtr> m_job;
};

}  // namespace coppice::designer
