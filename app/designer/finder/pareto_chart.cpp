// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/pareto_chart.hpp"

#include <QGraphicsLayout>
#include <QLegendMarker>
#include <QLineSeries>
#include <QScatterSeries>
#include <QToolTip>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kLine = 1.4;

void styleAxis(QAbstractAxis* axis, const QString& title) {
  const Theme& theme = Theme::instance();
  constexpr double kTitle = 11.5;
  constexpr double kLabel = 11;
  axis->setTitleText(title);
  axis->setTitleFont(uiFont(kTitle));
  axis->setTitleBrush(theme.color(Token::muted));
  axis->setLabelsFont(figureFont(kLabel));
  axis->setLabelsColor(theme.color(Token::muted));
  axis->setLinePenColor(theme.color(Token::line));
  axis->setGridLineColor(theme.color(Token::grid));
}

void clear(QChart* chart) {
  chart->removeAllSeries();
  for (QAbstractAxis* axis : chart->axes()) {
    chart->removeAxis(axis);
    delete axis;
  }
}

/// Round ticks around [low, high], with space on both sides.
void setRange(QValueAxis* axis, double low, double high) {
  const double span = std::max(high - low, high * 0.04);
  const double step = std::pow(10, std::floor(std::log10(span)));
  const double tick = span / step > 5 ? 2 * step : span / step > 2 ? step : step / 2;
  axis->setRange(std::max(0.0, low - span * 0.15), high + span * 0.2);
  axis->setTickType(QValueAxis::TicksDynamic);
  axis->setTickAnchor(0);
  axis->setTickInterval(tick);
  const int places = std::max(0, static_cast<int>(std::ceil(-std::log10(tick) - 1e-9)));
  axis->setLabelFormat(u"%."_s + QString::number(places) + u'f');
}

}  // namespace

ParetoChart::ParetoChart(const FrontTable& table, QWidget* parent) : QChartView(new QChart, parent), m_table(table) {
  setObjectName(u"finderChart"_s);
  setAccessibleName(tr("Steps against bandwidth time of the topologies"));
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  // The table beside it has the same rows for the keyboard.
  setFocusPolicy(Qt::NoFocus);
  viewport()->setFocusPolicy(Qt::NoFocus);
  constexpr QSize kMin(320, 180);
  setMinimumSize(kMin);
  connect(&Theme::instance(), &Theme::changed, this, &ParetoChart::draw);
  draw();
}

void ParetoChart::show(int chosen, int degree) {
  m_chosen = chosen;
  m_degree = degree;
  draw();
}

int ParetoChart::rowAt(const QPointF& point) const {
  const auto& rows = m_table.rows();
  int best = -1;
  // A point is what was drawn for it: the nearest is the one itself.
  double min = 1e-6;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const finder::Entry& entry = rows[i].topology.entry;
    const double distance = std::hypot(entry.steps - point.x(), entry.bandwidthTime.toDouble() - point.y());
    const bool isChosen = static_cast<int>(i) == m_chosen;
    if (distance < min || (isChosen && distance <= min)) {
      min = distance;
      best = static_cast<int>(i);
    }
  }
  return best;
}

/// The series of the chart and the ranges of their values.
struct ParetoChart::Series {
  QLineSeries* stairs = new QLineSeries;
  QScatterSeries* others = new QScatterSeries;
  QScatterSeries* points = new QScatterSeries;
  QScatterSeries* chosen = new QScatterSeries;
  QScatterSeries* best = new QScatterSeries;
  double lowX;
  double highX;
  double lowY;
  double highY;
};

void ParetoChart::draw() {
  clear(chart());
  styleChart();
  const auto& rows = m_table.rows();
  chart()->legend()->setVisible(!rows.empty());
  if (rows.empty()) {
    return;
  }
  const int shown = m_chosen >= 0 && m_chosen < static_cast<int>(rows.size()) ? m_chosen : 0;
  const int nodes = rows[shown].topology.entry.nodes;
  const Rational minTime(nodes - 1, nodes);
  const int minSteps = finder::mooreSteps(nodes, m_degree);
  Series series{.lowX = static_cast<double>(minSteps),
                .highX = static_cast<double>(minSteps),
                .lowY = minTime.toDouble(),
                .highY = minTime.toDouble()};
  fill(series, nodes);
  styleSeries(series, nodes);
  addSeries(series, minSteps, minTime);
  for (QScatterSeries* each : {series.others, series.chosen, series.points, series.best}) {
    listenTo(each);
  }
}

void ParetoChart::styleChart() {
  QChart* chart = this->chart();
  const Theme& theme = Theme::instance();
  chart->setBackgroundBrush(theme.color(Token::canvas));
  constexpr double kRound = 8;
  chart->setBackgroundRoundness(kRound);
  chart->setBackgroundPen(QPen(theme.color(Token::line)));
  chart->setPlotAreaBackgroundVisible(false);
  constexpr QMargins kMargins(6, 2, 12, 4);
  chart->setMargins(kMargins);
  chart->layout()->setContentsMargins(0, 0, 0, 0);
  constexpr double kLegend = 11.5;
  chart->legend()->setLabelColor(theme.color(Token::muted));
  chart->legend()->setFont(uiFont(kLegend));
  chart->legend()->setAlignment(Qt::AlignTop);
  chart->legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
  setBackgroundBrush(theme.color(Token::panel));
}

void ParetoChart::fill(Series& series, int nodes) const {
  const auto& rows = m_table.rows();
  double last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FrontRow& row = rows[i];
    const finder::Entry& entry = row.topology.entry;
    const QPointF at(entry.steps, entry.bandwidthTime.toDouble());
    series.lowX = std::min(series.lowX, at.x());
    series.highX = std::max(series.highX, at.x());
    series.lowY = std::min(series.lowY, at.y());
    series.highY = std::max(series.highY, at.y());
    if (entry.nodes != nodes) {
      series.others->append(at);
      continue;
    }
    if (series.stairs->count() > 0) {
      series.stairs->append(at.x(), last);
    }
    series.stairs->append(at);
    last = at.y();
    series.points->append(at);
    if (static_cast<int>(i) == m_chosen) {
      series.chosen->append(at);
    }
    if (row.isFastest) {
      series.best->append(at);
    }
  }
}

void ParetoChart::styleSeries(const Series& series, int nodes) const {
  const Theme& theme = Theme::instance();
  series.stairs->setPen(QPen(theme.color(Token::line), kLine));
  constexpr double kSmall = 9;
  constexpr double kLarge = 13;
  constexpr double kRing = 20;
  series.others->setName(tr("Other numbers of GPUs"));
  series.others->setMarkerSize(kSmall - 3);
  series.others->setColor(theme.color(Token::faint));
  series.others->setBorderColor(Qt::transparent);
  series.points->setName(tr("%1 GPUs").arg(nodes));
  series.points->setMarkerSize(kSmall);
  series.points->setColor(theme.color(Token::canvas));
  series.points->setBorderColor(theme.color(Token::accent));
  series.points->setPen(QPen(theme.color(Token::accent), 2));
  const auto& sizes = m_table.times().sizes;
  series.best->setName(sizes.empty() ? tr("Fastest") : tr("Fastest at %1").arg(sizeText(sizes.front().bytes.floor())));
  series.best->setMarkerSize(kLarge);
  series.best->setColor(theme.color(Token::accent));
  series.best->setBorderColor(theme.color(Token::canvas));
  series.chosen->setName(tr("Chosen"));
  series.chosen->setMarkerSize(kRing);
  series.chosen->setColor(theme.color(Token::accentSoft));
  series.chosen->setBorderColor(theme.color(Token::accent));
}

void ParetoChart::addSeries(const Series& series, int minSteps, const Rational& minTime) {
  const Theme& theme = Theme::instance();
  QChart* chart = this->chart();
  auto* x = new QValueAxis;
  styleAxis(x, tr("steps"));
  x->setRange(series.lowX - 0.6, series.highX + 0.6);
  x->setTickType(QValueAxis::TicksDynamic);
  x->setTickAnchor(0);
  constexpr double kMaxTicks = 12;
  x->setTickInterval(std::max(1.0, std::ceil((series.highX - series.lowX) / kMaxTicks)));
  x->setLabelFormat(u"%.0f"_s);
  auto* y = new QValueAxis;
  styleAxis(y, tr("T_B, units of M/B"));
  setRange(y, series.lowY, series.highY);
  chart->addAxis(x, Qt::AlignBottom);
  chart->addAxis(y, Qt::AlignLeft);
  auto* fewest = new QLineSeries;
  fewest->setName(tr("Minimum steps: %1").arg(minSteps));
  fewest->append(minSteps, y->min());
  fewest->append(minSteps, y->max());
  fewest->setPen(QPen(theme.color(Token::switchLine), kLine, Qt::DashLine));
  auto* bandwidth = new QLineSeries;
  bandwidth->setName(tr("Minimum T_B: %1").arg(QString::fromStdString(minTime.toString())));
  bandwidth->append(x->min(), minTime.toDouble());
  bandwidth->append(x->max(), minTime.toDouble());
  bandwidth->setPen(QPen(theme.color(Token::text), kLine, Qt::DotLine));
  for (QXYSeries* each :
       {static_cast<QXYSeries*>(fewest), static_cast<QXYSeries*>(bandwidth), static_cast<QXYSeries*>(series.stairs),
        static_cast<QXYSeries*>(series.others), static_cast<QXYSeries*>(series.chosen),
        static_cast<QXYSeries*>(series.points), static_cast<QXYSeries*>(series.best)}) {
    const bool isNamed = each != series.stairs && each != series.points && each->count() > 0;
    chart->addSeries(each);
    each->attachAxis(x);
    each->attachAxis(y);
    for (QLegendMarker* marker : chart->legend()->markers(each)) {
      marker->setVisible(isNamed);
    }
  }
}

void ParetoChart::listenTo(QScatterSeries* series) {
  connect(
      series, &QXYSeries::clicked, this,
      [this](const QPointF& point) {
        if (const int row = rowAt(point); row >= 0) {
          Q_EMIT rowClicked(row);
        }
      },
      Qt::QueuedConnection);
  connect(series, &QXYSeries::hovered, this, [this](const QPointF& point, bool isOn) {
    const int row = isOn ? rowAt(point) : -1;
    if (row < 0) {
      QToolTip::hideText();
      return;
    }
    const FrontRow& hovered = m_table.rows()[row];
    const finder::Entry& entry = hovered.topology.entry;
    QToolTip::showText(QCursor::pos(),
                       tr("%1\n%2 GPUs, %3 steps, T_B %4")
                           .arg(QString::fromStdString(finder::nameOf(*entry.construction)))
                           .arg(entry.nodes)
                           .arg(entry.steps)
                           .arg(QString::fromStdString(entry.bandwidthTime.toString())),
                       this);
  });
}

}  // namespace coppice::designer
