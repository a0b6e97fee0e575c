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
  constexpr QSize kLeast(320, 180);
  setMinimumSize(kLeast);
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
  double least = 1e-6;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const finder::Entry& entry = rows[i].topology.entry;
    const double distance = std::hypot(entry.steps - point.x(), entry.bandwidthTime.toDouble() - point.y());
    const bool isChosen = static_cast<int>(i) == m_chosen;
    if (distance < least || (isChosen && distance <= least)) {
      least = distance;
      best = static_cast<int>(i);
    }
  }
  return best;
}

void ParetoChart::draw() {
  QChart* chart = this->chart();
  clear(chart);
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
  const auto& rows = m_table.rows();
  chart->legend()->setVisible(!rows.empty());
  if (rows.empty()) {
    return;
  }
  const int shown = m_chosen >= 0 && m_chosen < static_cast<int>(rows.size()) ? m_chosen : 0;
  const int nodes = rows[static_cast<std::size_t>(shown)].topology.entry.nodes;

  auto* stairs = new QLineSeries;
  auto* others = new QScatterSeries;
  auto* points = new QScatterSeries;
  auto* chosen = new QScatterSeries;
  auto* best = new QScatterSeries;
  const Rational least(nodes - 1, nodes);
  const int moore = finder::mooreSteps(nodes, m_degree);
  double lowX = moore;
  double highX = moore;
  double lowY = least.toDouble();
  double highY = lowY;
  double last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FrontRow& row = rows[i];
    const finder::Entry& entry = row.topology.entry;
    const QPointF at(entry.steps, entry.bandwidthTime.toDouble());
    lowX = std::min(lowX, at.x());
    highX = std::max(highX, at.x());
    lowY = std::min(lowY, at.y());
    highY = std::max(highY, at.y());
    if (entry.nodes != nodes) {
      others->append(at);
      continue;
    }
    if (stairs->count() > 0) {
      stairs->append(at.x(), last);
    }
    stairs->append(at);
    last = at.y();
    points->append(at);
    if (static_cast<int>(i) == m_chosen) {
      chosen->append(at);
    }
    if (row.isFastest) {
      best->append(at);
    }
  }
  auto* x = new QValueAxis;
  styleAxis(x, tr("steps"));
  x->setRange(lowX - 0.6, highX + 0.6);
  x->setTickType(QValueAxis::TicksDynamic);
  x->setTickAnchor(0);
  constexpr double kMaxTicks = 12;
  x->setTickInterval(std::max(1.0, std::ceil((highX - lowX) / kMaxTicks)));
  x->setLabelFormat(u"%.0f"_s);
  auto* y = new QValueAxis;
  styleAxis(y, tr("T_B, units of M/B"));
  setRange(y, lowY, highY);
  chart->addAxis(x, Qt::AlignBottom);
  chart->addAxis(y, Qt::AlignLeft);

  constexpr double kLine = 1.4;
  auto* fewest = new QLineSeries;
  fewest->setName(tr("Minimum steps: %1").arg(moore));
  fewest->append(moore, y->min());
  fewest->append(moore, y->max());
  fewest->setPen(QPen(theme.color(Token::switchLine), kLine, Qt::DashLine));
  auto* bandwidth = new QLineSeries;
  bandwidth->setName(tr("Minimum T_B: %1").arg(QString::fromStdString(least.toString())));
  bandwidth->append(x->min(), least.toDouble());
  bandwidth->append(x->max(), least.toDouble());
  bandwidth->setPen(QPen(theme.color(Token::text), kLine, Qt::DotLine));
  stairs->setPen(QPen(theme.color(Token::line), kLine));

  constexpr double kSmall = 9;
  constexpr double kLarge = 13;
  constexpr double kRing = 20;
  others->setName(tr("Other numbers of GPUs"));
  others->setMarkerSize(kSmall - 3);
  others->setColor(theme.color(Token::faint));
  others->setBorderColor(Qt::transparent);
  points->setName(tr("%1 GPUs").arg(nodes));
  points->setMarkerSize(kSmall);
  points->setColor(theme.color(Token::canvas));
  points->setBorderColor(theme.color(Token::accent));
  points->setPen(QPen(theme.color(Token::accent), 2));
  const auto& sizes = m_table.times().sizes;
  best->setName(sizes.empty() ? tr("Fastest") : tr("Fastest at %1").arg(sizeText(sizes.front().bytes.floor())));
  best->setMarkerSize(kLarge);
  best->setColor(theme.color(Token::accent));
  best->setBorderColor(theme.color(Token::canvas));
  QColor halo = theme.color(Token::accentSoft);
  chosen->setName(tr("Chosen"));
  chosen->setMarkerSize(kRing);
  chosen->setColor(halo);
  chosen->setBorderColor(theme.color(Token::accent));
  for (QXYSeries* series :
       {static_cast<QXYSeries*>(fewest), static_cast<QXYSeries*>(bandwidth), static_cast<QXYSeries*>(stairs),
        static_cast<QXYSeries*>(others), static_cast<QXYSeries*>(chosen), static_cast<QXYSeries*>(points),
        static_cast<QXYSeries*>(best)}) {
    const bool isNamed = series != stairs && series != points && series->count() > 0;
    chart->addSeries(series);
    series->attachAxis(x);
    series->attachAxis(y);
    for (QLegendMarker* marker : chart->legend()->markers(series)) {
      marker->setVisible(isNamed);
    }
  }
  for (QScatterSeries* series : {others, chosen, points, best}) {
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
      const FrontRow& hovered = m_table.rows()[static_cast<std::size_t>(row)];
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
}

}  // namespace coppice::designer
