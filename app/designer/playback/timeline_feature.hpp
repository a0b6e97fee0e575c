// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QTimer>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "designer/playback/play_bar.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/render/film.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Plays the current schedule: one clock for the timeline and the drawing.
class TimelineFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules returns the schedule to play
  TimelineFeature(const FeatureHost& host, ScheduleFeature& schedules);
  [[nodiscard]] TimelinePanel& panel() const { return *m_panel; }
  /// The dock of all that is on the clock.
  [[nodiscard]] static DockGroup timelineDock() { return {QStringLiteral("clock"), tr("Timeline")}; }

private:
  void addActions();
  void follow();
  /// What is under way at the time of the clock, on the drawing of the current document.
  void show();
  /// Plays on the drawing, or pauses; the timeline comes forward where a run must be simulated first.
  void play();
  void save();
  /// The drawing while the run is played, as a film. Frames are drawn one by one while the window stays free.
  void startFilm();
  void addFrame();
  void endFilm(const Outcome& outcome);
  /// The bar over the drawing is there while this plays it.
  void showBar();

  ScheduleFeature& m_schedules;
  TimelinePanel* m_panel;
  ScheduleResultPtr m_result;
  QPointer<CanvasView> m_canvas;  ///< that shows the motion
  struct Film {
    std::unique_ptr<FilmWriter> writer;
    QString path;
    PlaybackPtr run;
    int frame = 0;
  };
  std::optional<Film> m_film;  ///< that is being written
  QTimer m_nextFrame;
  std::unique_ptr<FabricMap> m_map;
  ScheduleResultPtr m_mapResult;
  std::uint64_t m_mapRevision = 0;
  std::map<const EditorContext*, QPointer<PlayBar>> m_bars;  ///< over each drawing
};

}  // namespace coppice::designer
