// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>

#include "designer/charts/plot.hpp"
#include "designer/run/run_comparison.hpp"

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
  [[nodiscard]] QStringList lineNames() const { return m_plot->names(); }

private:
  void draw();
  void addBound();
  /// All values at the nearest size that was measured.
  [[nodiscard]] QString valuesAt(double bytes) const;

  RunComparisonPtr m_comparison;
  What m_what = What::algbw;
  QLabel* m_values;
  Plot* m_plot;
};

}  // namespace coppice::designer
