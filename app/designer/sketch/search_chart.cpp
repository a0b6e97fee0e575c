// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/search_chart.hpp"

#include <algorithm>

#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

SearchChart::SearchChart(QWidget* parent) : Plot(parent) {
  setObjectName(u"sketchChart"_s);
  setAccessibleName(tr("Best time and bound over the seconds of the search"));
  constexpr QSize kMin(180, 56);
  setMinimumSize(kMin);
  setLegendSide(LegendSide::right);
  setDraw([this] { draw(); });
}

void SearchChart::show(const std::vector<SearchTrace::Point>& points, double seconds) {
  m_found = points;
  m_seconds = seconds;
  redraw();
}

void SearchChart::draw() {
  setHint(tr("The best time and the bound appear here."));
  QList<QPointF> best;
  QList<QPointF> bound;
  for (const SearchTrace::Point& point : m_found) {
    // A schedule stays the best one until a better one is found.
    if (!best.isEmpty()) {
      best.emplace_back(point.seconds, best.back().y());
      bound.emplace_back(point.seconds, bound.back().y());
    }
    best.emplace_back(point.seconds, point.makespan.count().toDouble());
    bound.emplace_back(point.seconds, point.bound.count().toDouble());
  }
  if (best.isEmpty()) {
    return;
  }
  constexpr double kMinSpan = 0.06;  // s
  const double last = std::max({m_seconds, kMinSpan, best.back().x()});
  bound.prepend({0, bound.front().y()});
  best.emplace_back(last, best.back().y());
  bound.emplace_back(last, bound.back().y());
  setAxes({.range = PlotAxis::Range{0, last}, .format = u"%.3g s"_s}, {});
  const Theme& theme = Theme::instance();
  constexpr double kBest = 2;
  constexpr double kBound = 1.2;
  addLine(tr("best, µs"), best, {.color = category(0, theme.scheme()), .width = kBest});
  addLine(tr("bound, µs"), bound, {.color = theme.color(Token::text), .width = kBound, .dash = Qt::DashLine});
}

}  // namespace coppice::designer
