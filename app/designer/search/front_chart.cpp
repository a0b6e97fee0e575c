// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/front_chart.hpp"

#include <algorithm>
#include <limits>

#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kLine = 1.6;
constexpr std::array kKinds{CandidateKind::unknown, CandidateKind::unsat, CandidateKind::found, CandidateKind::optimal};

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

/// The point is hollow, or has an outline in the colour of the ground.
PlotStyle styleOf(CandidateKind kind) {
  const Theme& theme = Theme::instance();
  const QColor color = colorOf(kind, theme.scheme());
  const QColor ground = theme.color(Token::canvas);
  const bool isHollow = kind == CandidateKind::unknown;
  return {.color = isHollow ? color : ground,
          .width = isHollow ? kLine : 1,
          .fill = isHollow ? ground : color,
          .marker = sizeOf(kind),
          .shape = shapeOf(kind)};
}

}  // namespace

FrontChart::FrontChart(const FrontSearch& search, QWidget* parent) : Plot(parent), m_search(search) {
  setObjectName(u"frontChart"_s);
  setAccessibleName(tr("Steps against rounds per chunk"));
  constexpr int kMinHeight = 150;
  setMinimumHeight(kMinHeight);
  setDraw([this] { draw(); });
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (const auto candidate = candidateAt(place)) {
      Q_EMIT chosen(*candidate);
    }
  });
  connect(this, &Plot::activated, this, [this](const PlotPlace& place) {
    if (const auto candidate = candidateAt(place)) {
      Q_EMIT activatedAt(*candidate);
    }
  });
  connect(this, &Plot::pointed, this, [this](const PlotPlace& place) {
    if (const auto candidate = candidateAt(place); candidate != m_under) {
      m_under = candidate;
      Q_EMIT hovered(candidate);
    }
  });
}

void FrontChart::refresh() {
  for (auto& [kind, points] : m_points) {
    points.clear();
  }
  std::map<Place, std::map<CandidateKind, std::size_t>> last;
  const auto& candidates = m_search.candidates();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    last[{candidates[i].size.steps, candidates[i].ratio()}][kindOf(candidates[i])] = i;
  }
  for (const auto& [place, kinds] : last) {
    for (const auto& [kind, candidate] : kinds) {
      m_points[kind].push_back(candidate);
    }
  }
  m_corners = corners();
  setCurrent(m_current);
}

QList<QPointF> FrontChart::corners() const {
  constexpr double kFrame = std::numeric_limits<double>::infinity();
  QList<QPointF> corners;
  const auto& bounds = m_search.bounds();
  // Within a step the bound is that of the whole number at its left. Left of the first nothing is possible.
  double height = kFrame;
  for (const auto& [steps, bound] : bounds) {
    if (steps > 0) {
      const auto x = static_cast<double>(steps);
      corners.append({x, height});
      height = bound.toDouble();
      corners.append({x, height});
    }
  }
  if (!corners.isEmpty()) {
    corners.append({kFrame, height});
  } else if (const auto min = bounds.find(0); min != bounds.end()) {
    corners = {{-kFrame, min->second.toDouble()}, {kFrame, min->second.toDouble()}};
  }
  return corners;
}

void FrontChart::draw() {
  setHint(tr("Sizes that are found or excluded appear here while the search runs."));
  setAxes({.title = tr("Steps"), .scale = PlotAxis::Scale::whole}, {.title = tr("Rounds per chunk"), .fromZero = true});
  const Theme& theme = Theme::instance();
  m_kinds.clear();
  if (!m_corners.isEmpty()) {
    constexpr double kFrame = std::numeric_limits<double>::infinity();
    QList<QPointF> stairs = m_corners;
    if (stairs.front().x() > 0) {
      stairs.prepend({-kFrame, kFrame});
    }
    addArea(tr("below the proved bound"), stairs, {{-kFrame, 0}, {kFrame, 0}},
            {.color = theme.color(Token::text), .width = kLine, .fill = theme.color(Token::line)});
  }
  for (const CandidateKind kind : kKinds) {
    QList<QPointF> points;
    for (const std::size_t candidate : m_points[kind]) {
      points << valueOf(candidate);
    }
    if (!points.isEmpty()) {
      m_kinds[itemCount()] = kind;
      addPoints(nameOf(kind), points, styleOf(kind));
    }
  }
  if (m_current && *m_current < m_search.candidates().size()) {
    constexpr double kRing = 22;
    addPoints(
        {}, {valueOf(*m_current)},
        {.color = theme.color(Token::accent), .width = 2, .fill = Qt::transparent, .marker = kRing, .isTarget = false});
  }
}

void FrontChart::setCurrent(std::optional<std::size_t> candidate) {
  m_current = candidate;
  redraw();
}

int FrontChart::pointCount(CandidateKind kind) const {
  const auto points = m_points.find(kind);
  return points != m_points.end() ? static_cast<int>(points->second.size()) : 0;
}

QPointF FrontChart::valueOf(std::size_t candidate) const {
  const FrontCandidate& shown = m_search.candidates()[candidate];
  return {static_cast<double>(shown.size.steps), shown.ratio().toDouble()};
}

std::optional<std::size_t> FrontChart::candidateAt(const PlotPlace& place) const {
  return place.hit ? std::optional(m_points.at(m_kinds.at(place.hit->item))[place.hit->point]) : std::nullopt;
}

}  // namespace coppice::designer
