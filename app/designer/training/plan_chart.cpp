// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/plan_chart.hpp"

#include <utility>

#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
PlanChart::PlanChart(const QString& name, Units units, QWidget* parent) : Plot(parent), m_units(std::move(units)) {
  setObjectName(name);
  setAccessibleName(tr("Time of a step against memory of a GPU"));
  // The table beside it has the same plans for the keyboard.
  setFocusPolicy(Qt::NoFocus);
  viewport()->setFocusPolicy(Qt::NoFocus);
  setDraw([this] { draw(); });
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (place.hit && place.hit->item == m_all) {
      Q_EMIT planClicked(static_cast<int>(place.hit->point));
    }
  });
}

void PlanChart::setStepUnit(const QString& title, double nanoseconds) {
  m_units.step = title;
  m_units.nanoseconds = nanoseconds;
}

void PlanChart::show(QList<Point> points, int chosen) {
  m_points = std::move(points);
  m_chosen = chosen;
  redraw();
}

QPointF PlanChart::valueOf(const Point& point) const {
  return {point.memory.toDouble() / m_units.bytes, point.step.toDouble() / m_units.nanoseconds};
}

void PlanChart::draw() {
  setHint(tr("Time and memory of the plans will be drawn here"));
  if (m_points.isEmpty()) {
    return;
  }
  setAxes({.title = m_units.memory}, {.title = m_units.step});
  const Theme& theme = Theme::instance();
  const QColor accent = theme.color(Token::accent);
  constexpr double kSmall = 8;
  constexpr double kRing = 18;
  if (m_chosen >= 0 && m_chosen < m_points.size()) {
    addPoints(
        tr("Chosen"), {valueOf(m_points[m_chosen])},
        {.color = accent, .width = 1, .fill = theme.color(Token::accentSoft), .marker = kRing, .isTarget = false});
  }
  QList<QPointF> values;
  for (const Point& point : m_points) {
    values << valueOf(point);
  }
  m_all = itemCount();
  addPoints({}, values, {.color = accent, .width = 2, .fill = theme.color(Token::canvas), .marker = kSmall},
            [points = m_points](std::size_t point) { return points[static_cast<qsizetype>(point)].tip; });
}

}  // namespace coppice::designer
