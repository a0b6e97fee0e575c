// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/finder/front_table.hpp"

namespace coppice::designer {

/// Steps against T_B of the topologies found, with the minimum of both; the one that is best at the chosen size and the
/// chosen one stand out.
class ParetoChart : public Plot {
  Q_OBJECT

public:
  /// The table must outlive the chart.
  explicit ParetoChart(const FrontTable& table, QWidget* parent = nullptr);

  /// Draws the rows of the table. @param chosen row; -1 = none @param degree ports of a GPU
  void show(int chosen, int degree);

Q_SIGNALS:
  void rowClicked(int row);

private:
  void draw();
  /// A line for each lower limit.
  void addBounds(int nodes);
  void addRows(const QString& name, const std::vector<int>& rows, const PlotStyle& style);
  [[nodiscard]] QPointF valueOf(int row) const;

  const FrontTable& m_table;
  int m_chosen = -1;
  int m_degree = 0;
  std::map<std::size_t, std::vector<int>> m_rows;  ///< of the items
};

}  // namespace coppice::designer
