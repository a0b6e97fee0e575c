// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>
#include <QSlider>
#include <QToolButton>

#include "designer/playback/timeline_panel.hpp"

namespace coppice::designer {

/// Play, the time and its slider over the drawing, as in any film: the clock of the timeline, which need not be seen.
class PlayBar : public QFrame {
  Q_OBJECT

public:
  /// At the bottom of the drawing, which it is a child of. The panel must outlive it.
  PlayBar(TimelinePanel& panel, QWidget& drawing);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void refresh();
  void place();

  TimelinePanel& m_panel;
  QToolButton* m_play;
  QSlider* m_slider;
  QLabel* m_time;
};

}  // namespace coppice::designer
