// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QtCharts/QAreaSeries>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>
#include <QtCharts/QLineSeries>
#include <QtCharts/QScatterSeries>
#include <QtCharts/QValueAxis>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "designer/schedule/candidate_model.hpp"
#include "designer/schedule/front_search.hpp"

namespace coppice::designer {

/// Steps against R/C: what a search has found, refuted and left open, above the stairs of the proved bound.
class FrontChart : public QChartView {
  Q_OBJECT

public:
  /// The search must outlive the chart.
  explicit FrontChart(const FrontSearch& search, QWidget* parent = nullptr);

  void refresh();
  /// A ring around the candidate.
  void setCurrent(std::optional<std::size_t> candidate);
  /// Points of that kind; sizes with equal steps and R/C are one point.
  [[nodiscard]] int pointCount(CandidateKind kind) const;
  /// Corners of the stairs.
  [[nodiscard]] const QList<QPointF>& stairs() const { return m_corners; }
  /// Where a candidate is on the widget's viewport.
  [[nodiscard]] QPoint placeOf(std::size_t candidate) const;

Q_SIGNALS:
  /// The point of a candidate was clicked, or double clicked.
  void chosen(std::size_t candidate);
  void activated(std::size_t candidate);
  /// The pointer is over a point, or over none.
  void hovered(std::optional<std::size_t> candidate);

protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

private:
  using Place = std::pair<std::int64_t, Rational>;

  void style();
  void hint();
  void fillPoints();
  void fillStairs();
  void fitAxes();
  [[nodiscard]] std::optional<std::size_t> candidateAt(const QPoint& position) const;

  const FrontSearch& m_search;
  QChart* m_plot;
  QLineSeries* m_stairs;
  QLineSeries* m_ground;  ///< below the stairs' area
  QAreaSeries* m_area;
  QScatterSeries* m_ring;
  std::array<QScatterSeries*, kCandidateKinds> m_points{};
  QValueAxis* m_x;
  QValueAxis* m_y;
  /// The last candidate of each kind at each place.
  std::map<Place, std::array<std::optional<std::size_t>, kCandidateKinds>> m_places;
  QList<QPointF> m_corners;
  std::optional<std::size_t> m_current;
  std::optional<std::size_t> m_under;
};

}  // namespace coppice::designer
