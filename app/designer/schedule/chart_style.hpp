// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QtCharts/QAbstractAxis>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>

namespace coppice::designer {

/// The colours of the theme.
void styleChart(QChart& chart, QChartView& view);
void styleAxis(QAbstractAxis& axis);

}  // namespace coppice::designer
