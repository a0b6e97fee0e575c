// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QtCharts/QAbstractAxis>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>

namespace coppice::designer {

/// Takes away all series and axes.
void clearChart(QChart& chart);
/// The colours of the theme.
void styleChart(QChart& chart, QChartView& view);
void styleAxis(QAbstractAxis& axis);
/// What will be drawn, in place of axes without values; empty brings the axes back.
void setChartHint(QChart& chart, const QString& hint);

}  // namespace coppice::designer
