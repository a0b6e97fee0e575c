// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QtCharts/QScatterSeries>

namespace coppice::designer {

enum class PlotKind { line, points, area, bars };

/// How an item of a Plot looks.
struct PlotStyle {
  QColor color = {};  ///< of lines and outlines
  double width = 1.8;
  Qt::PenStyle dash = Qt::SolidLine;
  QColor fill = {};   ///< of points, bars and areas; invalid = as the outline
  double marker = 0;  ///< diameter of points; 0 = none
  QScatterSeries::MarkerShape shape = QScatterSeries::MarkerShapeCircle;
  bool isTarget = true;  ///< the pointer finds it
  bool isFitted = true;  ///< the axes reach over it
};

}  // namespace coppice::designer
