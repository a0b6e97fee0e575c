// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/search_chart.hpp"

#include <QGraphicsLayout>
#include <QVBoxLayout>
#include <QtCharts/QLegend>
#include <algorithm>
#include <initializer_list>

#include "designer/schedule/chart_style.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kTicks = 4;

}  // namespace

SearchChart::SearchChart(QWidget* parent)
    : QWidget(parent),
      m_chart(new QChart),
      m_view(new QChartView(m_chart, this)),
      m_best(new QLineSeries(m_chart)),
      m_bound(new QLineSeries(m_chart)),
      m_seconds(new QValueAxis(m_chart)),
      m_time(new QValueAxis(m_chart)) {
  setObjectName(u"sketchChart"_s);
  m_view->setAccessibleName(tr("Best time and bound over the seconds of the search"));
  m_view->setRenderHint(QPainter::Antialiasing);
  m_view->setFrameShape(QFrame::NoFrame);
  constexpr QSize kMin(180, 56);
  m_view->setMinimumSize(kMin);
  m_best->setName(tr("best, µs"));
  m_bound->setName(tr("bound, µs"));
  m_chart->layout()->setContentsMargins(0, 0, 0, 0);
  m_chart->setMargins({});
  m_chart->setBackgroundRoundness(0);
  m_chart->addSeries(m_best);
  m_chart->addSeries(m_bound);
  m_chart->addAxis(m_seconds, Qt::AlignBottom);
  m_chart->addAxis(m_time, Qt::AlignLeft);
  m_chart->legend()->setAlignment(Qt::AlignRight);
  m_chart->legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
  m_seconds->setLabelFormat(u"%.3g s"_s);
  m_time->setLabelFormat(u"%.4g"_s);
  m_seconds->setTickCount(kTicks);
  m_time->setTickCount(kTicks);
  for (QLineSeries* line : {m_best, m_bound}) {
    line->attachAxis(m_seconds);
    line->attachAxis(m_time);
  }
  // As many as there is room for.
  connect(m_chart, &QChart::plotAreaChanged, this, [this](const QRectF& plot) {
    constexpr int kLabelWidth = 64;
    m_seconds->setTickCount(std::clamp(static_cast<int>(plot.width()) / kLabelWidth, 2, kTicks));
  });
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_view);
  connect(&Theme::instance(), &Theme::changed, this, &SearchChart::restyle);
  restyle();
  show({}, 1);
}

void SearchChart::show(const std::vector<SearchTrace::Point>& points, double seconds) {
  QList<QPointF> best;
  QList<QPointF> bound;
  double min = 0;
  double max = 0;
  for (const SearchTrace::Point& point : points) {
    const double time = point.makespan.count().toDouble();
    const double under = point.bound.count().toDouble();
    // A schedule stays the best one until a better one is found.
    if (!best.isEmpty()) {
      best.emplace_back(point.seconds, best.back().y());
      bound.emplace_back(point.seconds, bound.back().y());
    }
    best.emplace_back(point.seconds, time);
    bound.emplace_back(point.seconds, under);
    min = min == 0 ? under : std::min(min, under);
    max = std::max(max, time);
  }
  constexpr double kMinSpan = 0.06;  // s
  double last = std::max(seconds, kMinSpan);
  if (!best.isEmpty()) {
    bound.prepend({0, bound.front().y()});
    last = std::max(last, best.back().x());
    best.emplace_back(last, best.back().y());
    bound.emplace_back(last, bound.back().y());
  }
  m_best->replace(best);
  m_bound->replace(bound);
  m_seconds->setRange(0, last);
  setChartHint(*m_chart, best.isEmpty() ? tr("The best time and the bound appear here.") : QString());
  if (best.isEmpty()) {
    return;
  }
  constexpr double kAir = 0.08;
  const double span = std::max(max - min, max / 100);
  // Equal curves are in the middle, so that the labels of the axis differ.
  const double air = kAir * span + (span - (max - min)) / 2;
  m_time->setRange(std::max(0.0, min - air), max + air);
}

void SearchChart::restyle() {
  const Theme& theme = Theme::instance();
  const QString hint = m_chart->title();
  styleChart(*m_chart, *m_view);
  setChartHint(*m_chart, hint);
  styleAxis(*m_seconds);
  styleAxis(*m_time);
  constexpr double kLine = 2;
  m_best->setPen(QPen(category(0, theme.scheme()), kLine));
  m_bound->setPen(QPen(theme.color(Token::text), kLine / 2 + 0.2, Qt::DashLine));
}

}  // namespace coppice::designer
