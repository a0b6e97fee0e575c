// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/chart_style.hpp"

#include <QtCharts/QLegend>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kLabel = 10.5;

}  // namespace

void clearChart(QChart& chart) {
  chart.removeAllSeries();
  for (QAbstractAxis* axis : chart.axes()) {
    chart.removeAxis(axis);
    delete axis;
  }
}

void styleChart(QChart& chart, QChartView& view) {
  const Theme& theme = Theme::instance();
  chart.setBackgroundBrush(theme.color(Token::panel));
  chart.setPlotAreaBackgroundBrush(theme.color(Token::canvas));
  chart.setPlotAreaBackgroundVisible(true);
  chart.legend()->setFont(uiFont(kLabel));
  chart.legend()->setLabelColor(theme.color(Token::text));
  view.setBackgroundBrush(theme.color(Token::panel));
}

void styleAxis(QAbstractAxis& axis) {
  const Theme& theme = Theme::instance();
  axis.setLabelsFont(figureFont(kLabel));
  axis.setTitleFont(uiFont(kLabel));
  axis.setLabelsColor(theme.color(Token::muted));
  axis.setTitleBrush(theme.color(Token::muted));
  axis.setLinePenColor(theme.color(Token::line));
  axis.setGridLineColor(theme.color(Token::grid));
}

}  // namespace coppice::designer
