// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/pareto_chart.hpp"

#include <limits>

#include "designer/document/figures.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kLine = 1.4;

}  // namespace

ParetoChart::ParetoChart(const FrontTable& table, QWidget* parent) : Plot(parent), m_table(table) {
  setObjectName(u"finderChart"_s);
  setAccessibleName(tr("Steps against bandwidth time of the topologies"));
  // The table beside it has the same rows for the keyboard.
  setFocusPolicy(Qt::NoFocus);
  viewport()->setFocusPolicy(Qt::NoFocus);
  constexpr QSize kMin(320, 180);
  setMinimumSize(kMin);
  setDraw([this] { draw(); });
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (place.hit) {
      Q_EMIT rowClicked(m_rows.at(place.hit->item)[place.hit->point]);
    }
  });
}

void ParetoChart::show(int chosen, int degree) {
  m_chosen = chosen;
  m_degree = degree;
  redraw();
}

QPointF ParetoChart::valueOf(int row) const {
  const finder::Entry& entry = m_table.rows()[static_cast<std::size_t>(row)].topology.entry;
  return {static_cast<double>(entry.steps), entry.bandwidthTime.toDouble()};
}

void ParetoChart::addRows(const QString& name, const std::vector<int>& rows, const PlotStyle& style) {
  QList<QPointF> points;
  for (const int row : rows) {
    points << valueOf(row);
  }
  m_rows[itemCount()] = rows;
  addPoints(name, points, style, [this, rows](std::size_t point) {
    const finder::Entry& entry = m_table.rows()[static_cast<std::size_t>(rows[point])].topology.entry;
    return tr("%1\n%2 GPUs, %3 steps, bandwidth time %4")
        .arg(QString::fromStdString(finder::nameOf(*entry.construction)))
        .arg(entry.nodes)
        .arg(entry.steps)
        .arg(QString::fromStdString(entry.bandwidthTime.toString()));
  });
}

void ParetoChart::draw() {
  m_rows.clear();
  const auto& rows = m_table.rows();
  if (rows.empty()) {
    return;
  }
  const int count = static_cast<int>(rows.size());
  const int shown = m_chosen >= 0 && m_chosen < count ? m_chosen : 0;
  const int nodes = rows[static_cast<std::size_t>(shown)].topology.entry.nodes;
  setAxes({.title = tr("steps"), .scale = PlotAxis::Scale::whole}, {.title = tr("bandwidth time")});
  addBounds(nodes);
  std::vector<int> others;
  std::vector<int> same;
  std::vector<int> chosen;
  std::vector<int> best;
  QList<QPointF> stairs;
  for (int row = 0; row < count; ++row) {
    const FrontRow& each = rows[static_cast<std::size_t>(row)];
    if (each.topology.entry.nodes != nodes) {
      others.push_back(row);
      continue;
    }
    same.push_back(row);
    if (!stairs.isEmpty()) {
      stairs.append({valueOf(row).x(), stairs.back().y()});
    }
    stairs.append(valueOf(row));
    if (row == m_chosen) {
      chosen.push_back(row);
    }
    if (each.isFastest) {
      best.push_back(row);
    }
  }
  const Theme& theme = Theme::instance();
  constexpr double kSmall = 9;
  constexpr double kLarge = 13;
  constexpr double kRing = 20;
  const QColor accent = theme.color(Token::accent);
  addLine({}, stairs, {.color = theme.color(Token::line), .width = kLine});
  addRows(others.empty() ? QString() : tr("Other numbers of GPUs"), others,
          {.color = Qt::transparent, .fill = theme.color(Token::faint), .marker = kSmall - 3});
  addRows(chosen.empty() ? QString() : tr("Chosen"), chosen,
          {.color = accent, .width = 1, .fill = theme.color(Token::accentSoft), .marker = kRing});
  addRows({}, same, {.color = accent, .width = 2, .fill = theme.color(Token::canvas), .marker = kSmall});
  const auto& sizes = m_table.times().sizes;
  const QString fastest =
      sizes.empty() ? tr("Fastest") : tr("Fastest at %1").arg(roughBytes(sizes.front().bytes.toDouble()));
  addRows(best.empty() ? QString() : fastest, best,
          {.color = theme.color(Token::canvas), .width = 1, .fill = accent, .marker = kLarge});
}

void ParetoChart::addBounds(int nodes) {
  const Theme& theme = Theme::instance();
  constexpr double kFrame = std::numeric_limits<double>::infinity();
  const int steps = finder::mooreSteps(nodes, m_degree);
  const Rational time(nodes - 1, nodes);
  addLine(tr("Minimum steps: %1").arg(steps),
          {{static_cast<double>(steps), -kFrame}, {static_cast<double>(steps), kFrame}},
          {.color = theme.color(Token::switchLine), .width = kLine, .dash = Qt::DashLine});
  addLevel(tr("Minimum bandwidth time: %1").arg(QString::fromStdString(time.toString())), time.toDouble(),
           {.color = theme.color(Token::text), .width = kLine, .dash = Qt::DotLine});
}

}  // namespace coppice::designer
