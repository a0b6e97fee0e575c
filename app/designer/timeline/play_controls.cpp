// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/timeline/play_controls.hpp"

#include <QHBoxLayout>
#include <utility>

#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

PlayControls::PlayControls(PlayClock& clock, const QString& name, const QString& step, QWidget* parent)
    : QWidget(parent),
      m_clock(clock),
      m_previous(iconButton(name + u"Previous"_s, u"previous"_s, tr("Previous %1 ([)").arg(step), this)),
      m_play(iconButton(name + u"Play"_s, u"run"_s, tr("Play (Space)"), this)),
      m_next(iconButton(name + u"Next"_s, u"next"_s, tr("Next %1 (])").arg(step), this)),
      m_loop(iconButton(name + u"Loop"_s, u"loop"_s, tr("Loop"), this)),
      m_speed(new QComboBox(this)) {
  m_loop->setCheckable(true);
  m_speed->setObjectName(name + u"Speed"_s);
  m_speed->setAccessibleName(tr("Speed"));
  for (const auto& [text, speed] : {std::pair(u"¼×"_s, 0.25), std::pair(u"½×"_s, 0.5), std::pair(u"1×"_s, 1.0),
                                    std::pair(u"2×"_s, 2.0), std::pair(u"4×"_s, 4.0)}) {
    m_speed->addItem(text, speed);
  }
  m_speed->setCurrentIndex(m_speed->findData(1.0));
  auto* line = new QHBoxLayout(this);
  constexpr int kGap = 8;
  line->setContentsMargins({});
  line->setSpacing(kGap);
  for (QWidget* widget :
       {static_cast<QWidget*>(m_previous), static_cast<QWidget*>(m_play), static_cast<QWidget*>(m_next),
        static_cast<QWidget*>(m_loop), static_cast<QWidget*>(m_speed)}) {
    line->addWidget(widget);
  }
  connect(m_play, &QToolButton::clicked, this, [this] { m_clock.setPlaying(!m_clock.isPlaying()); });
  connect(m_previous, &QToolButton::clicked, this, [this] { Q_EMIT stepWanted(-1); });
  connect(m_next, &QToolButton::clicked, this, [this] { Q_EMIT stepWanted(1); });
  connect(m_loop, &QToolButton::toggled, &m_clock, &PlayClock::setLooped);
  connect(m_speed, &QComboBox::currentIndexChanged, this,
          [this] { m_clock.setSpeed(m_speed->currentData().toDouble()); });
  connect(&m_clock, &PlayClock::playingChanged, this, &PlayControls::refresh);
  connect(&m_clock, &PlayClock::endChanged, this, &PlayControls::refresh);
  refresh();
}

void PlayControls::refresh() {
  m_play->setIcon(icon(m_clock.isPlaying() ? u"pause"_s : u"run"_s));
  m_play->setToolTip(m_clock.isPlaying() ? tr("Pause (Space)") : tr("Play (Space)"));
  m_play->setAccessibleName(m_play->toolTip());
  for (QToolButton* each : {m_previous, m_play, m_next}) {
    each->setEnabled(m_clock.end() > 0);
  }
}

}  // namespace coppice::designer
