// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/front_chart.hpp"

#include <QGraphicsLayout>
#include <QMouseEvent>
#include <QPen>
#include <QtCharts/QLegend>
#include <QtCharts/QLegendMarker>
#include <algorithm>
#include <cmath>

#include "designer/schedule/chart_style.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr std::array kKinds{CandidateKind::unknown, CandidateKind::unsat, CandidateKind::found, CandidateKind::optimal};

std::size_t at(CandidateKind kind) {
  return static_cast<std::size_t>(kind);
}

QScatterSeries::MarkerShape shapeOf(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::optimal:
      return QScatterSeries::MarkerShapeStar;
    case CandidateKind::found:
      return QScatterSeries::MarkerShapeCircle;
    case CandidateKind::unsat:
      return QScatterSeries::MarkerShapeTriangle;
    case CandidateKind::unknown:
      break;
  }
  return QScatterSeries::MarkerShapeRectangle;
}

double sizeOf(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::optimal:
      return 16;
    case CandidateKind::found:
      return 11;
    case CandidateKind::unsat:
    case CandidateKind::unknown:
      break;
  }
  return 9;
}

/// 1, 2, 5, 10, 20 …
double roundStep(double wanted) {
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= wanted) {
      return digit * power;
    }
  }
  return 10 * power;
}

}  // namespace

FrontChart::FrontChart(const FrontSearch& search, QWidget* parent)
    : QChartView(new QChart, parent),
      m_search(search),
      m_plot(chart()),
      m_stairs(new QLineSeries(this)),
      m_ground(new QLineSeries(this)),
      m_area(new QAreaSeries(m_stairs, m_ground)),
      m_ring(new QScatterSeries(this)),
      m_x(new QValueAxis(this)),
      m_y(new QValueAxis(this)) {
  setObjectName(u"frontChart"_s);
  setAccessibleName(tr("Steps against rounds per chunk"));
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  viewport()->setMouseTracking(true);
  constexpr int kMinHeight = 150;
  setMinimumHeight(kMinHeight);
  m_plot->layout()->setContentsMargins(0, 0, 0, 0);
  m_plot->setBackgroundRoundness(0);
  m_plot->setMargins({4, 0, 8, 0});
  m_plot->legend()->setAlignment(Qt::AlignTop);
  m_plot->legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
  m_x->setTitleText(tr("Steps"));
  m_x->setLabelFormat(u"%d"_s);
  m_x->setTickType(QValueAxis::TicksDynamic);
  m_x->setTickAnchor(0);
  m_y->setTitleText(tr("R/C"));
  m_y->setLabelFormat(u"%g"_s);
  m_y->setTickType(QValueAxis::TicksDynamic);
  m_y->setTickAnchor(0);
  m_plot->addAxis(m_x, Qt::AlignBottom);
  m_plot->addAxis(m_y, Qt::AlignLeft);
  const auto add = [this](QAbstractSeries* series) {
    m_plot->addSeries(series);
    series->attachAxis(m_x);
    series->attachAxis(m_y);
  };
  m_area->setName(tr("below the proved bound on R/C"));
  add(m_area);
  for (const CandidateKind kind : kKinds) {
    auto* series = new QScatterSeries(this);
    series->setName(nameOf(kind));
    series->setMarkerShape(shapeOf(kind));
    series->setMarkerSize(sizeOf(kind));
    m_points[at(kind)] = series;
    add(series);
  }
  add(m_ring);
  constexpr double kRing = 22;
  m_ring->setMarkerSize(kRing);
  for (QLegendMarker* marker : m_plot->legend()->markers(m_ring)) {
    marker->setVisible(false);
  }
  style();
  refresh();
  connect(&Theme::instance(), &Theme::changed, this, &FrontChart::style);
}

void FrontChart::style() {
  const Theme& theme = Theme::instance();
  styleChart(*m_plot, *this);
  styleAxis(*m_x);
  styleAxis(*m_y);
  constexpr double kLine = 1.6;
  m_area->setPen(QPen(theme.color(Token::text), kLine));
  m_area->setBrush(theme.color(Token::line));
  for (QLegendMarker* marker : m_plot->legend()->markers(m_area)) {
    marker->setBrush(theme.color(Token::line));
    marker->setPen(QPen(theme.color(Token::text)));
    marker->setShape(QLegend::MarkerShapeRectangle);
  }
  for (const CandidateKind kind : kKinds) {
    QScatterSeries* series = m_points[at(kind)];
    const QColor color = colorOf(kind, theme.scheme());
    const bool isHollow = kind == CandidateKind::unknown;
    series->setPen(QPen(isHollow ? color : theme.color(Token::canvas), isHollow ? kLine : 1));
    series->setBrush(isHollow ? QBrush(theme.color(Token::canvas)) : QBrush(color));
  }
  m_ring->setBrush(Qt::transparent);
  m_ring->setPen(QPen(theme.color(Token::accent), 2));
  hint();
}

void FrontChart::hint() {
  const bool isEmpty = m_places.empty() && m_search.bounds().empty();
  setChartHint(*m_plot,
               isEmpty ? tr("Sizes that are found or excluded appear here while the search runs.") : QString());
}

void FrontChart::refresh() {
  fillPoints();
  fitAxes();
  fillStairs();
  setCurrent(m_current);
  hint();
}

void FrontChart::fillPoints() {
  m_places.clear();
  const auto& candidates = m_search.candidates();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    m_places[{candidates[i].size.steps, candidates[i].ratio()}][at(kindOf(candidates[i]))] = i;
  }
  std::array<QList<QPointF>, kCandidateKinds> points;
  for (const auto& [place, kinds] : m_places) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (kinds[kind]) {
        points[kind].append({static_cast<double>(place.first), place.second.toDouble()});
      }
    }
  }
  for (std::size_t kind = 0; kind < points.size(); ++kind) {
    if (m_points[kind]->points() != points[kind]) {
      m_points[kind]->replace(points[kind]);
    }
  }
}

void FrontChart::fitAxes() {
  double first = 1;
  double last = 4;
  double top = 0;
  bool isFirst = true;
  const auto cover = [&](std::int64_t steps, double ratio) {
    const auto x = static_cast<double>(steps);
    first = isFirst ? x : std::min(first, x);
    last = isFirst ? x : std::max(last, x);
    top = std::max(top, ratio);
    isFirst = false;
  };
  for (const auto& [place, kinds] : m_places) {
    cover(place.first, place.second.toDouble());
  }
  for (const auto& [steps, bound] : m_search.bounds()) {
    if (steps > 0) {
      cover(steps, bound.toDouble());
    } else {
      top = std::max(top, bound.toDouble());
    }
  }
  constexpr double kSide = 0.6;
  constexpr double kMargin = 1.12;
  constexpr double kTicks = 5;
  constexpr double kColumns = 16;
  m_x->setRange(first - kSide, last + kSide);
  m_x->setTickInterval(std::max(1.0, roundStep((last - first + 1) / kColumns)));
  top = top > 0 ? top * kMargin : 1;
  m_y->setRange(0, top);
  m_y->setTickInterval(roundStep(top / kTicks));
}

void FrontChart::fillStairs() {
  m_corners.clear();
  const auto& bounds = m_search.bounds();
  // Within a step the bound is that of the whole number at its left. Left of the first nothing is possible.
  std::optional<double> height;
  for (const auto& [steps, bound] : bounds) {
    if (steps == 0) {
      continue;
    }
    const auto x = static_cast<double>(steps);
    m_corners.append({x, height.value_or(m_y->max())});
    height = bound.toDouble();
    m_corners.append({x, *height});
  }
  const auto min = bounds.find(0);
  if (height) {
    m_corners.append({m_x->max(), *height});
  } else if (min != bounds.end()) {
    m_corners = {{m_x->min(), min->second.toDouble()}, {m_x->max(), min->second.toDouble()}};
  }
  QList<QPointF> ground;
  QList<QPointF> stairs = m_corners;
  if (height) {
    stairs.prepend({m_x->min(), m_y->max()});
  }
  for (const QPointF& corner : stairs) {
    ground.append({corner.x(), 0});
  }
  m_stairs->replace(stairs);
  m_ground->replace(ground);
}

void FrontChart::setCurrent(std::optional<std::size_t> candidate) {
  m_current = candidate && *candidate < m_search.candidates().size() ? candidate : std::nullopt;
  if (!m_current) {
    m_ring->clear();
    return;
  }
  const FrontCandidate& shown = m_search.candidates()[*m_current];
  m_ring->replace(QList<QPointF>{{static_cast<double>(shown.size.steps), shown.ratio().toDouble()}});
}

int FrontChart::pointCount(CandidateKind kind) const {
  return static_cast<int>(m_points[at(kind)]->count());
}

QPoint FrontChart::placeOf(std::size_t candidate) const {
  const FrontCandidate& shown = m_search.candidates()[candidate];
  const QPointF value(static_cast<double>(shown.size.steps), shown.ratio().toDouble());
  return mapFromScene(m_plot->mapToScene(m_plot->mapToPosition(value, m_points[at(kindOf(shown))])));
}

std::optional<std::size_t> FrontChart::candidateAt(const QPoint& position) const {
  constexpr int kReach = 12;
  std::optional<std::size_t> found;
  double nearest = kReach;
  for (const auto& [place, kinds] : m_places) {
    // In the order in which they are drawn: what lies on top is meant.
    std::optional<std::size_t> top;
    for (const CandidateKind kind : kKinds) {
      top = kinds[at(kind)] ? kinds[at(kind)] : top;
    }
    const QPoint distance = placeOf(*top) - position;
    const double length = std::hypot(distance.x(), distance.y());
    if (length < nearest) {
      nearest = length;
      found = top;
    }
  }
  return found;
}

void FrontChart::mousePressEvent(QMouseEvent* event) {
  if (const auto candidate = candidateAt(event->pos()); candidate && event->button() == Qt::LeftButton) {
    Q_EMIT chosen(*candidate);
  }
}

void FrontChart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto candidate = candidateAt(event->pos()); candidate && event->button() == Qt::LeftButton) {
    Q_EMIT activated(*candidate);
  }
}

void FrontChart::mouseMoveEvent(QMouseEvent* event) {
  const auto candidate = candidateAt(event->pos());
  if (candidate != m_under) {
    m_under = candidate;
    Q_EMIT hovered(candidate);
  }
}

void FrontChart::leaveEvent(QEvent* event) {
  QChartView::leaveEvent(event);
  if (m_under) {
    m_under.reset();
    Q_EMIT hovered(std::nullopt);
  }
}

}  // namespace coppice::designer
