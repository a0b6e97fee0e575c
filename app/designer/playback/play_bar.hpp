// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>
#include <QSlider>
#include <QTimer>
#include <QToolButton>

#include "designer/canvas/canvas_view.hpp"
#include "designer/playback/timeline_panel.hpp"

namespace coppice::designer {

/// Play, the time and its slider over the drawing, as in any film: the clock of the timeline, which need not be seen.
class PlayBar : public QFrame {
  Q_OBJECT

public:
  /// At the bottom of the drawing, which it is a child of, where it covers as little of it as it can. The panel must
  /// outlive it.
  PlayBar(TimelinePanel& panel, CanvasView& drawing);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void refresh();
  void place();

  TimelinePanel& m_panel;
  CanvasView& m_drawing;
  QTimer m_placing;  ///< once the view has come to rest
  QToolButton* m_play;
  QSlider* m_slider;
  QLabel* m_time;
};

}  // namespace coppice::designer
