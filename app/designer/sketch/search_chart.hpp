// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>
#include <QtCharts/QLineSeries>
#include <QtCharts/QValueAxis>
#include <vector>

#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// Two curves over the time of a search: the best schedule so far, and what no schedule is shorter than.
class SearchChart : public QWidget {
  Q_OBJECT

public:
  explicit SearchChart(QWidget* parent = nullptr);

  /// @param seconds to draw to
  void show(const std::vector<SearchTrace::Point>& points, double seconds);
  [[nodiscard]] const QLineSeries& best() const { return *m_best; }
  [[nodiscard]] const QLineSeries& bound() const { return *m_bound; }

private:
  void restyle();

  QChart* m_chart;
  QChartView* m_view;
  QLineSeries* m_best;
  QLineSeries* m_bound;
  QValueAxis* m_seconds;
  QValueAxis* m_time;
};

}  // namespace coppice::designer
