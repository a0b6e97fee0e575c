// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QWidget>
#include <memory>
#include <optional>

#include "designer/jobs/latest_job.hpp"
#include "designer/playback/playback.hpp"
#include "designer/schedules/job_progress.hpp"
#include "designer/theme/seen.hpp"
#include "designer/timeline/play_clock.hpp"
#include "designer/timeline/play_controls.hpp"

namespace coppice::designer {

/// The lanes of the dock "Timeline": a simulated run of the current schedule, with the clock that the drawing follows.
/// It is simulated in the background once the panel can be seen, or the run is to be played.
class TimelinePanel : public QWidget {
  Q_OBJECT

public:
  explicit TimelinePanel(QWidget* parent = nullptr);
  ~TimelinePanel() override;

  void setResult(ScheduleResultPtr result);
  /// A run is being simulated.
  [[nodiscard]] bool isRecording() const { return m_isRecording; }
  /// A measured run of the current schedule's fabric, and the simulation of what was run, on one clock: lanes of both
  /// stand under each other, and one of them moves on the drawing. nullptr both: back to the simulation of the
  /// schedule.
  void setRuns(PlaybackPtr planned, PlaybackPtr measured);
  [[nodiscard]] bool hasMeasured() const { return m_measured != nullptr; }
  /// That the drawing plays; nullptr while there is none.
  [[nodiscard]] const PlaybackPtr& playback() const { return playsMeasured() ? m_measured : m_playback; }
  /// Where the clock stands, ns; nullopt = nothing is played.
  [[nodiscard]] const std::optional<double>& time() const { return m_clock.time(); }
  void setTime(std::optional<double> time) { m_clock.setTime(time); }
  /// Also while the panel cannot be seen: then the run is simulated first.
  void setPlaying(bool isPlaying);
  [[nodiscard]] bool isPlaying() const { return m_clock.isPlaying(); }
  /// To the next (1) or previous (-1) message of the critical path.
  void stepCritical(int direction);
  void setBytes(std::int64_t bytes);
  /// Of the pieces on the drawing, as of the bars.
  [[nodiscard]] Playback::ColorBy colorBy() const;
  [[nodiscard]] TimelineView& view() { return *m_view; }
  [[nodiscard]] PlayClock& clock() { return m_clock; }

Q_SIGNALS:
  /// The clock moved, or there is another run to show.
  void timeChanged();
  /// The time, or how far the simulation is.
  void stateChanged();
  void generateWanted();
  /// The trace is to be saved; the owner asks where.
  void saveWanted();

protected:
  void hideEvent(QHideEvent* event) override;

private:
  struct Recorded {
    PlaybackPtr playback;
    PlaybackPtr measured = {};
    QString problem;
    TimelineLanes lanes;
  };
  using Answer = std::shared_ptr<Recorded>;
  QWidget* makeBody();
  void record();
  /// Once the panel can be seen, or no more.
  void follow(bool isSeen);
  void receive(const Answer& answer);
  void orderLanes();
  [[nodiscard]] Playback::LaneKind laneKind() const;
  /// What the lanes need: threadblocks are of a program.
  [[nodiscard]] Playback::Played played() const;
  void refresh();
  void showState();
  [[nodiscard]] bool playsMeasured() const { return m_measured && m_which->currentIndex() == 1; }
  /// Of the longer run, ns.
  [[nodiscard]] double duration() const;
  /// That the items of a lane are from.
  [[nodiscard]] const Playback& runOf(const TimelineLane& lane) const;

  ScheduleResultPtr m_result;
  PlaybackPtr m_playback;
  PlaybackPtr m_measured;  ///< nullptr: only the simulation is shown
  QString m_problem;
  bool m_isRecordWanted = false;
  bool m_isPlayWanted = false;  ///< as soon as there is a run, seen or not
  bool m_isRecording = false;
  bool m_areLanesWanted = false;                           ///< dropped while the panel is hidden
  Playback::Played m_played = Playback::Played::schedule;  ///< that m_playback is of
  PlayClock m_clock;
  QStackedWidget* m_pages;
  PlayControls* m_controls;
  QComboBox* m_size;
  QComboBox* m_lanes;
  QComboBox* m_color;
  QComboBox* m_which;  ///< which of two runs the drawing plays
  QToolButton* m_save;
  QProgressBar* m_progress;
  QPushButton* m_cancel;
  QLabel* m_text;
  TimelineView* m_view;
  std::shared_ptr<JobProgress> m_jobProgress;
  QTimer m_tick;  ///< shows m_jobProgress
  Seen m_seen;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
