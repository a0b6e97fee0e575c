// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/chart_style.hpp"

#include <QtCharts/QLegend>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kLabel = 10.5;
constexpr double kHint = 12.5;

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
  chart.setTitleFont(uiFont(kHint));
  chart.setTitleBrush(theme.color(Token::muted));
  view.setBackgroundBrush(theme.color(Token::panel));
}

void styleAxis(QAbstractAxis& axis) {
  const Theme& theme = Theme::instance();
  axis.setLabelsFont(figureFont(kLabel));
  // Labels that have no room are left out; dots say nothing.
  axis.setTruncateLabels(false);
  axis.setTitleFont(uiFont(kLabel));
  axis.setLabelsColor(theme.color(Token::muted));
  axis.setTitleBrush(theme.color(Token::muted));
  axis.setLinePenColor(theme.color(Token::line));
  axis.setGridLineColor(theme.color(Token::grid));
}

void setChartHint(QChart& chart, const QString& hint) {
  chart.setTitle(hint);
  chart.setPlotAreaBackgroundVisible(hint.isEmpty());
  chart.legend()->setVisible(hint.isEmpty());
  for (QAbstractAxis* axis : chart.axes()) {
    axis->setVisible(hint.isEmpty());
  }
}

}  // namespace coppice::designer
