// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QToolButton>
#include <QWidget>

#include "designer/timeline/play_clock.hpp"

namespace coppice::designer {

/// Buttons of a clock: a step back, play, a step on, loop, and the speed.
class PlayControls : public QWidget {
  Q_OBJECT

public:
  /// @param name begins the object names of the widgets: "side" gives "sidePlay". @param step what the steps
  /// are, "message of the critical path". The clock must outlive the controls.
  PlayControls(PlayClock& clock, const QString& name, const QString& step, QWidget* parent = nullptr);

Q_SIGNALS:
  /// -1 and 1.
  void stepWanted(int direction);

private:
  void refresh();

  PlayClock& m_clock;
  QToolButton* m_previous;
  QToolButton* m_play;
  QToolButton* m_next;
  QToolButton* m_loop;
  QComboBox* m_speed;
};

}  // namespace coppice::designer
