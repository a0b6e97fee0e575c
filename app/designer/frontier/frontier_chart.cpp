// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/frontier/frontier_chart.hpp"

#include <algorithm>

#include "designer/document/figures.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

FrontierChart::FrontierChart(QWidget* parent) : Plot(parent) {
  setObjectName(u"frontierChart"_s);
  setAccessibleName(tr("What networks reach, against their price or watts"));
  // The table below it has the same networks for the keyboard.
  setFocusPolicy(Qt::NoFocus);
  viewport()->setFocusPolicy(Qt::NoFocus);
  constexpr QSize kMin(420, 240);
  setMinimumSize(kMin);
  setDraw([this] { draw(); });
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (const auto point = pointAt(place)) {
      Q_EMIT pointClicked(*point);
    }
  });
  connect(this, &Plot::activated, this, [this](const PlotPlace& place) {
    if (const auto point = pointAt(place)) {
      Q_EMIT pointActivated(*point);
    }
  });
}

void FrontierChart::show(const FrontierAnswerPtr& answer, Cost cost, Gain gain, int chosen) {
  m_answer = answer;
  m_cost = cost;
  m_gain = gain;
  m_chosen = chosen;
  redraw();
}

std::optional<int> FrontierChart::pointAt(const PlotPlace& place) const {
  if (!place.hit) {
    return std::nullopt;
  }
  const auto found = m_points.find(place.hit->item);
  return found == m_points.end() ? std::nullopt : std::optional(found->second[place.hit->point]);
}

std::optional<QPointF> FrontierChart::valueOf(int point) const {
  const workflow::FrontierPoint& each = m_answer->frontier.points[static_cast<std::size_t>(point)];
  const bom::Cost& total = each.bill.total;
  const double x = (m_cost == Cost::price ? total.price : total.watts).toDouble();
  switch (m_gain) {
    case Gain::allreduce:
      return QPointF(x, toGBps(each.bounds.allreduce));
    case Gain::alltoall:
      return QPointF(x, toGBps(each.bounds.alltoall));
    case Gain::step:
      break;
  }
  return each.bounds.step ? std::optional(QPointF(x, each.bounds.step->toDouble() / m_answer->stepUnit.nanoseconds))
                          : std::nullopt;
}

void FrontierChart::addNetworks(const QString& name, const std::vector<int>& networks, const PlotStyle& style) {
  QList<QPointF> places;
  for (const int network : networks) {
    places << *valueOf(network);
  }
  m_points[itemCount()] = networks;
  addPoints(name, places, style, [answer = m_answer, networks](std::size_t at) {
    const workflow::FrontierPoint& point = answer->frontier.points[static_cast<std::size_t>(networks[at])];
    const workflow::NetworkBounds& bounds = point.bounds;
    QString text =
        QString::fromStdString(point.name) + u'\n' +
        tr("Price %1, %2 W\nAllReduce %3 GB/s, AllToAll %4 GB/s")
            .arg(grouped(point.bill.total.price), grouped(point.bill.total.watts),
                 rangeText(bounds.allreduce, bounds.allreduceUpper), rangeText(bounds.alltoall, bounds.alltoallUpper));
    return answer->hasStep ? text + u'\n' +
                                 tr("Training step, %1: %2")
                                     .arg(QLatin1StringView(answer->stepUnit.name), stepText(bounds, answer->stepUnit))
                           : text;
  });
}

void FrontierChart::draw() {
  m_points.clear();
  setHint(tr("The networks will be drawn here"));
  if (!m_answer || m_answer->frontier.points.empty()) {
    return;
  }
  const bool isLowBetter = m_gain == Gain::step;
  setAxes(
      {.title = m_cost == Cost::price ? tr("price of the network") : tr("watts of the network")},
      {.title = m_gain == Gain::allreduce  ? tr("AllReduce, GB/s")
                : m_gain == Gain::alltoall ? tr("AllToAll, GB/s")
                                           : tr("training step, %1").arg(QLatin1StringView(m_answer->stepUnit.name)),
       .fromZero = !isLowBetter});
  std::vector<int> front;
  std::vector<int> others;
  std::vector<int> chosen;
  const int count = static_cast<int>(m_answer->frontier.points.size());
  for (int i = 0; i < count; ++i) {
    if (!valueOf(i)) {
      continue;
    }
    (m_answer->frontier.points[static_cast<std::size_t>(i)].isOnFront ? front : others).push_back(i);
    if (i == m_chosen) {
      chosen.push_back(i);
    }
  }
  // What is reached at most for each cost, by these two figures alone.
  std::vector<int> all = front;
  all.insert(all.end(), others.begin(), others.end());
  std::sort(all.begin(), all.end(), [&](int a, int b) {
    const QPointF one = *valueOf(a);
    const QPointF other = *valueOf(b);
    return one.x() != other.x() ? one.x() < other.x() : isLowBetter ? one.y() < other.y() : one.y() > other.y();
  });
  QList<QPointF> stairs;
  for (const int point : all) {
    const QPointF value = *valueOf(point);
    if (!stairs.isEmpty() && (isLowBetter ? value.y() >= stairs.back().y() : value.y() <= stairs.back().y())) {
      continue;
    }
    if (!stairs.isEmpty()) {
      stairs << QPointF(value.x(), stairs.back().y());
    }
    stairs << value;
  }
  const Theme& theme = Theme::instance();
  const QColor accent = theme.color(Token::accent);
  constexpr double kLine = 1.4;
  constexpr double kSmall = 7;
  constexpr double kLarge = 11;
  constexpr double kRing = 20;
  addLine({}, stairs, {.color = theme.color(Token::line), .width = kLine, .isTarget = false});
  if (!others.empty()) {
    addNetworks(tr("Others"), others, {.color = Qt::transparent, .fill = theme.color(Token::faint), .marker = kSmall});
  }
  if (!chosen.empty()) {
    addNetworks(tr("Chosen"), chosen,
                {.color = accent, .width = 1, .fill = theme.color(Token::accentSoft), .marker = kRing});
  }
  if (!front.empty()) {
    addNetworks(tr("No other is as good"), front,
                {.color = theme.color(Token::canvas), .width = 1, .fill = accent, .marker = kLarge});
  }
}

}  // namespace coppice::designer
