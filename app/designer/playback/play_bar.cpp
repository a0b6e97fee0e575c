// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/playback/play_bar.hpp"

#include <QEvent>
#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/legend_placement.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kSliderSteps = 1000;

}  // namespace

PlayBar::PlayBar(TimelinePanel& panel, CanvasView& drawing)
    : QFrame(&drawing),
      m_panel(panel),
      m_drawing(drawing),
      m_play(iconButton(u"playBarPlay"_s, u"run"_s, tr("Play (Space)"), this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_time(new QLabel(this)) {
  setObjectName(u"playBar"_s);
  setProperty("role", u"floating"_s);
  setAttribute(Qt::WA_StyledBackground);
  setCursor(Qt::ArrowCursor);
  m_play->setText(tr("Play"));
  m_slider->setObjectName(u"playBarTime"_s);
  m_slider->setAccessibleName(tr("Time of the run"));
  m_slider->setRange(0, kSliderSteps);
  m_time->setObjectName(u"playBarText"_s);
  m_time->setFont(figureFont());
  m_time->setProperty("role", u"muted"_s);
  auto* line = new QHBoxLayout(this);
  constexpr QMargins kMargins(6, 3, 12, 3);
  constexpr int kGap = 8;
  line->setContentsMargins(kMargins);
  line->setSpacing(kGap);
  for (QWidget* widget :
       {static_cast<QWidget*>(m_play), static_cast<QWidget*>(m_slider), static_cast<QWidget*>(m_time)}) {
    line->addWidget(widget);
  }
  connect(m_play, &QToolButton::clicked, this, [this] { m_panel.setPlaying(!m_panel.isPlaying()); });
  connect(m_slider, &QSlider::valueChanged, this, [this](int value) {
    m_panel.setPlaying(false);
    m_panel.setTime(m_panel.clock().end() * value / kSliderSteps);
  });
  connect(&m_panel, &TimelinePanel::stateChanged, this, &PlayBar::refresh);
  connect(&m_panel.clock(), &PlayClock::playingChanged, this, &PlayBar::refresh);
  drawing.installEventFilter(this);
  constexpr int kRest = 250;  // ms
  m_placing.setSingleShot(true);
  m_placing.setInterval(kRest);
  connect(&m_placing, &QTimer::timeout, this, &PlayBar::place);
  connect(&drawing, &CanvasView::viewChanged, &m_placing, QOverload<>::of(&QTimer::start));
  refresh();
}

bool PlayBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == parent()) {
    place();
  }
  return QFrame::eventFilter(watched, event);
}

void PlayBar::refresh() {
  const double end = m_panel.clock().end();
  const std::optional<double>& time = m_panel.time();
  m_play->setIcon(icon(m_panel.isPlaying() ? u"pause"_s : u"run"_s));
  m_play->setToolTip(m_panel.isPlaying() ? tr("Pause (Space)") : tr("Play the schedule on the drawing (Space)"));
  m_play->setAccessibleName(m_play->toolTip());
  {
    const QSignalBlocker quiet(m_slider);
    // While nothing is played it covers as little of the drawing as it can.
    m_slider->setVisible(time.has_value());
    m_slider->setValue(end > 0 ? static_cast<int>(std::lround(time.value_or(0) / end * kSliderSteps)) : 0);
  }
  // The word is as good to press as the triangle.
  const bool isIdle = !time && !m_panel.isRecording();
  m_play->setToolButtonStyle(isIdle ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
  m_time->setVisible(!isIdle);
  m_time->setText(m_panel.isRecording() ? tr("Simulating…")
                  : time                ? tr("%1 of %2").arg(timeText(*time), timeText(end))
                                        : QString());
  place();
}

void PlayBar::place() {
  constexpr int kWide = 1100;
  constexpr int kSliderWidth = 220;
  constexpr int kShortSlider = 110;
  m_slider->setFixedWidth(m_drawing.width() < kWide ? kShortSlider : kSliderWidth);
  adjustSize();
  // Not from under the pointer.
  if (!underMouse() || !m_drawing.rect().contains(geometry())) {
    const CanvasScene& scene = m_drawing.scene();
    const Viewpoint viewpoint{m_drawing.zoom(), m_drawing.toView({0, 0})};
    CanvasPainter painter(scene, Theme::instance().colors(), m_drawing.state());
    const QSizeF legend = painter.legendSize();
    const QRectF legendRect(m_drawing.legendCorner() - QPointF(legend.width(), 0), legend);
    const Detail detail = detailAt(viewpoint.scale, scene.lines().size(), scene.bounds());
    // It stays where it is when the slider comes.
    constexpr int kButtonAndTime = 215;
    const QSize whole(std::max(width(), kButtonAndTime + m_slider->width()), height());
    move(placeBar(whole, scene, painter.titleRects(viewpoint.scale, detail), legendRect, viewpoint, m_drawing.size()));
  }
}

}  // namespace coppice::designer
