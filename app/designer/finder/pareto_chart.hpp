// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QChartView>
#include <QScatterSeries>

#include "base/rational.hpp"
#include "designer/finder/front_table.hpp"

namespace coppice::designer {

/// Steps against T_B of the topologies found, with the minimum of both; the one that is best at the chosen size and the
/// chosen one stand out.
class ParetoChart : public QChartView {
  Q_OBJECT

public:
  /// The table must outlive the chart.
  explicit ParetoChart(const FrontTable& table, QWidget* parent = nullptr);

  /// Draws the rows of the table. @param chosen row; -1 = none @param degree ports of a GPU
  void show(int chosen, int degree);

Q_SIGNALS:
  void rowClicked(int row);

private:
  /// The row whose point it is; -1: none.
  [[nodiscard]] int rowAt(const QPointF& point) const;
  void draw();
  struct Series;
  void styleChart();
  /// Puts the rows of the table into the series, of which some are for that number of GPUs.
  void fill(Series& series, int nodes) const;
  void styleSeries(const Series& series, int nodes) const;
  /// With axes, and a line for each lower limit.
  void addSeries(const Series& series, int minSteps, const Rational& minTime);
  void listenTo(QScatterSeries* series);

  const FrontTable& m_table;
  int m_chosen = -1;
  int m_degree = 0;
};

}  // namespace coppice::designer
