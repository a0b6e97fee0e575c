// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/search/candidate_model.hpp"
#include "designer/search/front_search.hpp"

namespace coppice::designer {

/// Steps against R/C: what a search has found, refuted and left open, above the stairs of the proved bound.
class FrontChart : public Plot {
  Q_OBJECT

public:
  /// The search must outlive the chart.
  explicit FrontChart(const FrontSearch& search, QWidget* parent = nullptr);

  void refresh();
  /// A ring around the candidate.
  void setCurrent(std::optional<std::size_t> candidate);
  /// Points of that kind; sizes with equal steps and R/C are one point.
  [[nodiscard]] int pointCount(CandidateKind kind) const;
  /// Corners of the stairs, which begin and end on the frame.
  [[nodiscard]] const QList<QPointF>& stairs() const { return m_corners; }
  /// Where a candidate is on the widget's viewport.
  [[nodiscard]] QPoint placeOf(std::size_t candidate) const { return Plot::placeOf(valueOf(candidate)).toPoint(); }

Q_SIGNALS:
  /// The point of a candidate was clicked, or double clicked.
  void chosen(std::size_t candidate);
  void activatedAt(std::size_t candidate);
  /// The pointer is over a point, or over none.
  void hovered(std::optional<std::size_t> candidate);

private:
  using Place = std::pair<std::int64_t, Rational>;

  void draw();
  [[nodiscard]] QList<QPointF> corners() const;
  [[nodiscard]] QPointF valueOf(std::size_t candidate) const;
  [[nodiscard]] std::optional<std::size_t> candidateAt(const PlotPlace& place) const;

  const FrontSearch& m_search;
  /// The last candidate of each kind at each place.
  std::map<CandidateKind, std::vector<std::size_t>> m_points;
  std::map<std::size_t, CandidateKind> m_kinds;  ///< of the items
  QList<QPointF> m_corners;
  std::optional<std::size_t> m_current;
  std::optional<std::size_t> m_under;
};

}  // namespace coppice::designer
