// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/frontier/frontier_search.hpp"

namespace coppice::designer {

/// Networks by what they cost and what they reach: those of the front, the others, and the line of what is reached at
/// most for each cost.
class FrontierChart : public Plot {
  Q_OBJECT

public:
  enum class Cost { price, watts };
  enum class Gain { allreduce, alltoall, step };

  explicit FrontierChart(QWidget* parent = nullptr);
  /// @param chosen index among the points; -1 = none
  void show(const FrontierAnswerPtr& answer, Cost cost, Gain gain, int chosen);
  /// Where a point stands; nullopt: it has no such value.
  [[nodiscard]] std::optional<QPointF> valueOf(int point) const;

Q_SIGNALS:
  void pointClicked(int point);
  void pointActivated(int point);

private:
  void draw();
  void addNetworks(const QString& name, const std::vector<int>& networks, const PlotStyle& style);
  /// The point under the pointer; nullopt: none.
  [[nodiscard]] std::optional<int> pointAt(const PlotPlace& place) const;

  FrontierAnswerPtr m_answer;
  Cost m_cost = Cost::price;
  Gain m_gain = Gain::allreduce;
  int m_chosen = -1;
  std::map<std::size_t, std::vector<int>> m_points;  ///< by item of the plot
};

}  // namespace coppice::designer
