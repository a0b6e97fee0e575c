// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>

#include "base/rational.hpp"
#include "designer/charts/plot.hpp"

namespace coppice::designer {

/// Time of a step against memory of a GPU, a point for each plan; the chosen one stands out.
class PlanChart : public Plot {
  Q_OBJECT

public:
  /// One plan.
  struct Point {
    Rational memory;  ///< bytes
    Rational step;    ///< ns
    QString tip = {};
  };
  struct Units {
    QString memory;  ///< title of the axis, with the unit
    QString step;
    double bytes = 1;  ///< of one unit
    double nanoseconds = 1;
  };

  PlanChart(const QString& name, Units units, QWidget* parent = nullptr);

  /// From the next show() on.
  void setStepUnit(const QString& title, double nanoseconds);
  /// @param chosen row; -1 = none
  void show(QList<Point> points, int chosen);

Q_SIGNALS:
  void planClicked(int row);

private:
  void draw();

  [[nodiscard]] QPointF valueOf(const Point& point) const;

  Units m_units;
  QList<Point> m_points;
  int m_chosen = -1;
  std::size_t m_all = 0;  ///< item of all plans
};

}  // namespace coppice::designer
