// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>
#include <QtCharts/QLineSeries>
#include <vector>

#include "designer/schedule/run_comparison.hpp"

namespace coppice::designer {

/// Measured and predicted speed against size on logarithmic axes, with the bound as a dashed line.
class MeasuredChart : public QWidget {
  Q_OBJECT

public:
  enum class What { algbw, busbw, time };

  explicit MeasuredChart(QWidget* parent = nullptr);
  /// nullptr: nothing is drawn.
  void setComparison(RunComparisonPtr comparison);
  void setWhat(What what);
  [[nodiscard]] What what() const { return m_what; }
  /// "predicted", "measured", "measured in place", "bound": the lines that are drawn.
  [[nodiscard]] QStringList lineNames() const;
  /// All values at the size nearest to this point of the chart.
  [[nodiscard]] QString valuesAt(const QPointF& position) const;
  [[nodiscard]] QChartView& view() { return *m_view; }

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void draw();
  /// What was predicted and measured, as far as there is any.
  [[nodiscard]] QList<QLineSeries*> makeLines() const;
  /// nullptr where it is not known, or no speed is drawn.
  [[nodiscard]] QLineSeries* makeBound(double first, double last) const;
  void addAxes(double first, double last, double min, double max);

  RunComparisonPtr m_comparison;
  What m_what = What::algbw;
  QLabel* m_values;
  QChart* m_chart;
  QChartView* m_view;
};

}  // namespace coppice::designer
