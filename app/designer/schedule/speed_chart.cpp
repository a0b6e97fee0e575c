// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/speed_chart.hpp"

#include <QGraphicsLayout>
#include <QGraphicsLineItem>
#include <QGraphicsSimpleTextItem>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLogValueAxis>
#include <QtCharts/QScatterSeries>
#include <QtCharts/QValueAxis>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bus_factor.hpp"
#include "base/collective.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedule/chart_style.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "simulate/report.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kLine = 1.8;
/// Every doubling of the size is one step of the axis.
double placeOf(std::int64_t size) {
  return std::log2(static_cast<double>(size));
}

QString dot(int index) {
  return u"<span style='color:%1'>●</span>"_s.arg(category(index, Theme::instance().scheme()).name());
}

}  // namespace

std::optional<double> latencyOf(const SpeedSeries& series) {
  const simulate::Row* first = series.prediction ? series.prediction->at(comparedSizes().front()) : nullptr;
  return first != nullptr ? std::optional(first->time.count()) : std::nullopt;
}

void SpeedChart::Extent::add(double value) {
  min = min == 0 ? value : std::min(min, value);
  max = std::max(max, value);
}

SpeedChart::SpeedChart(QWidget* parent) : QChartView(new QChart, parent) {
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  chart()->setBackgroundRoundness(0);
  chart()->legend()->hide();
  connect(chart(), &QChart::plotAreaChanged, this, [this] { drawPins(); });
  connect(&Theme::instance(), &Theme::changed, this, &SpeedChart::draw);
}

void SpeedChart::setSeries(std::vector<SpeedSeries> series, What what, const std::optional<Bandwidth>& bound) {
  m_series = std::move(series);
  m_what = what;
  m_bound = bound;
  setAccessibleName(what == What::latency ? tr("Limit against latency") : tr("Predicted speed against size"));
  draw();
}

const simulate::Row* SpeedChart::rowOf(std::size_t series, std::size_t size) const {
  const PredictionPtr& prediction = m_series[series].prediction;
  return prediction && size < comparedSizes().size() ? prediction->at(comparedSizes()[size]) : nullptr;
}

double SpeedChart::valueOf(const simulate::Row& row) const {
  return m_what == What::time ? row.time.count() : (m_what == What::busbw ? row.busbw : row.algbw).gigabytesPerSecond();
}

QString SpeedChart::valueText(const simulate::Row& row) const {
  return m_what == What::time ? timeText(row.time) : QString::number(valueOf(row), 'f', 2);
}

std::optional<double> SpeedChart::boundAt(std::size_t size) const {
  if (!m_bound || m_series.empty()) {
    return std::nullopt;
  }
  const ScheduleResult& result = *m_series.front().result;
  switch (m_what) {
    case What::busbw:
      return toGBps(*m_bound * busFactor(result.options.collective, result.fabric->gpuCount()));
    case What::time: {
      constexpr double kBytesPerMicrosecond = 1000;  // of 1 GB/s
      return static_cast<double>(comparedSizes()[size]) / (toGBps(*m_bound) * kBytesPerMicrosecond);
    }
    default:
      return toGBps(*m_bound);
  }
}

void SpeedChart::draw() {
  clearChart(*chart());
  styleChart(*chart(), *this);
  if (m_what == What::latency) {
    drawLatency();
  } else {
    drawSizes();
  }
  drawPins();
}

void SpeedChart::addLogAxis(const Extent& extent, Qt::Alignment side, const QString& title,
                            const QList<QXYSeries*>& series) {
  auto* axis = new QLogValueAxis;
  constexpr double kBase = 10;
  constexpr double kAbove = 1.01;
  axis->setBase(kBase);
  axis->setLabelFormat(u"%g"_s);
  axis->setTitleText(title);
  axis->setRange(std::pow(kBase, std::floor(std::log10(extent.min))),
                 std::pow(kBase, std::ceil(std::log10(extent.max * kAbove))));
  styleAxis(*axis);
  chart()->addAxis(axis, side);
  for (QXYSeries* each : series) {
    each->attachAxis(axis);
  }
}

void SpeedChart::drawSizes() {
  const Theme& theme = Theme::instance();
  const std::vector<std::int64_t>& sizes = comparedSizes();
  const std::vector<simulate::Row> kNoRows;
  constexpr int kFewSizes = 12;
  QList<QXYSeries*> lines;
  Extent extent;
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    auto* line = new QLineSeries;
    const auto index = static_cast<int>(series);
    line->setPen(QPen(category(index, theme.scheme()), kLine, categoryDash(index)));
    for (const simulate::Row& row : m_series[series].prediction ? m_series[series].prediction->rows : kNoRows) {
      if (row.size >= sizes.front() && row.size <= sizes.back()) {
        extent.add(valueOf(row));
        line->append(placeOf(row.size), valueOf(row));
      }
    }
    // Of few sizes each point counts: a run may have measured one.
    line->setPointsVisible(line->count() < kFewSizes);
    if (line->count() == 0) {
      delete line;
    } else {
      lines << line;
    }
  }
  if (lines.isEmpty()) {
    return;
  }
  if (boundAt(0)) {
    auto* line = new QLineSeries;
    line->setPen(QPen(theme.color(Token::text), 1.2, Qt::DashLine));
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      line->append(placeOf(sizes[size]), *boundAt(size));
      // A bound on the time of the smallest sizes lies far below all that can be reached.
      if (m_what != What::time || size + 1 == sizes.size()) {
        extent.add(*boundAt(size));
      }
    }
    lines << line;
  }
  auto* x = new QCategoryAxis;
  x->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x->setStartValue(placeOf(sizes.front()));
  x->setRange(placeOf(sizes.front()), placeOf(sizes.back()));
  constexpr std::size_t kEvery = 4;
  for (std::size_t size = 0; size < sizes.size(); size += kEvery) {
    x->append(bytesText(sizes[size]), placeOf(sizes[size]));
  }
  styleAxis(*x);
  chart()->addAxis(x, Qt::AlignBottom);
  for (QXYSeries* line : lines) {
    chart()->addSeries(line);
    line->attachAxis(x);
  }
  addLogAxis(extent, Qt::AlignLeft, m_what == What::time ? tr("µs") : tr("GB/s"), lines);
}

std::vector<std::size_t> SpeedChart::front() const {
  std::vector<std::size_t> known;
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    if (latencyOf(m_series[series])) {
      known.push_back(series);
    }
  }
  const auto isBeaten = [&](std::size_t by, std::size_t series) {
    const double fast = *latencyOf(m_series[by]);
    const double slow = *latencyOf(m_series[series]);
    const Bandwidth& high = m_series[by].result->algbw;
    const Bandwidth& low = m_series[series].result->algbw;
    return fast <= slow && high >= low && (fast < slow || high > low);
  };
  std::vector<std::size_t> best;
  for (const std::size_t series : known) {
    if (std::none_of(known.begin(), known.end(), [&](std::size_t by) { return isBeaten(by, series); })) {
      best.push_back(series);
    }
  }
  std::sort(best.begin(), best.end(),
            [this](std::size_t a, std::size_t b) { return *latencyOf(m_series[a]) < *latencyOf(m_series[b]); });
  return best;
}

void SpeedChart::drawLatency() {
  const Theme& theme = Theme::instance();
  Extent times;
  double max = m_bound ? toGBps(*m_bound) : 0;
  QList<QXYSeries*> all;
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    if (const auto latency = latencyOf(m_series[series])) {
      times.add(*latency);
      max = std::max(max, toGBps(m_series[series].result->algbw));
    }
  }
  if (times.max == 0) {
    return;
  }
  // No mark lies on the frame.
  constexpr double kRoom = 1.4;
  times.add(times.min / kRoom);
  times.add(times.max * kRoom);
  auto* steps = new QLineSeries;
  steps->setPen(QPen(theme.color(Token::muted), 1.2, Qt::DotLine));
  const std::vector<std::size_t> best = front();
  for (std::size_t at = 0; at < best.size(); ++at) {
    const double latency = *latencyOf(m_series[best[at]]);
    // What comes next is better in the limit alone, and only from its own latency on.
    if (at > 0) {
      steps->append(latency, toGBps(m_series[best[at - 1]].result->algbw));
    }
    steps->append(latency, toGBps(m_series[best[at]].result->algbw));
  }
  all << steps;
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    if (const auto latency = latencyOf(m_series[series])) {
      const bool isBest = std::find(best.begin(), best.end(), series) != best.end();
      const QColor color = category(static_cast<int>(series), theme.scheme());
      auto* point = new QScatterSeries;
      constexpr double kMarker = 11;
      point->setMarkerSize(kMarker);
      point->setColor(isBest ? color : theme.color(Token::canvas));
      point->setBorderColor(color);
      point->append(*latency, toGBps(m_series[series].result->algbw));
      all << point;
    }
  }
  if (m_bound) {
    auto* line = new QLineSeries;
    line->setPen(QPen(theme.color(Token::text), 1.2, Qt::DashLine));
    line->append(times.min / 10, toGBps(*m_bound));
    line->append(times.max * 10, toGBps(*m_bound));
    all << line;
  }
  auto* y = new QValueAxis;
  constexpr double kAbove = 1.08;
  y->setRange(0, max * kAbove);
  y->applyNiceNumbers();
  y->setTitleText(tr("limit, GB/s"));
  y->setLabelFormat(u"%.0f"_s);
  styleAxis(*y);
  chart()->addAxis(y, Qt::AlignLeft);
  for (QXYSeries* each : all) {
    chart()->addSeries(each);
    each->attachAxis(y);
  }
  addLogAxis(times, Qt::AlignBottom, tr("time of %1, µs").arg(bytesText(comparedSizes().front())), all);
}

void SpeedChart::drawPins() {
  qDeleteAll(std::exchange(m_labels, {}));
  if (m_what == What::latency || chart()->series().isEmpty()) {
    return;
  }
  const Theme& theme = Theme::instance();
  const QRectF plot = chart()->plotArea();
  const QFont font = figureFont(10.5);
  QXYSeries* series = static_cast<QXYSeries*>(chart()->series().front());
  struct Text {
    QString text;
    QColor color;
    double bottom;  ///< where its value is drawn
  };
  // One below the other, none over another.
  const auto addTexts = [&](std::vector<Text> texts, double x) {
    std::stable_sort(texts.begin(), texts.end(), [](const Text& a, const Text& b) { return a.bottom < b.bottom; });
    double last = plot.top();
    for (std::size_t at = 0; at < texts.size(); ++at) {
      auto* label = new QGraphicsSimpleTextItem(texts[at].text, chart());
      label->setFont(font);
      label->setBrush(texts[at].color);
      const QSizeF size = label->boundingRect().size();
      const double left = static_cast<double>(texts.size() - at) * size.height();  // with those that follow
      const double y = std::max(last, std::min(texts[at].bottom - size.height(), plot.bottom() - left));
      constexpr double kGap = 4;
      const bool isBefore = x + size.width() + kGap > plot.right();
      label->setPos(isBefore ? x - size.width() - kGap : x + kGap, y);
      last = y + size.height();
      m_labels << label;
    }
  };
  for (const std::size_t pin : m_pins) {
    const double x = chart()->mapToPosition(QPointF(placeOf(comparedSizes()[pin]), 1), series).x();
    auto* line = new QGraphicsLineItem(QLineF(x, plot.top(), x, plot.bottom()), chart());
    line->setPen(QPen(theme.color(Token::muted), 1, Qt::DashLine));
    m_labels << line;
    std::vector<Text> texts{{bytesText(comparedSizes()[pin]), theme.color(Token::text), plot.top()}};
    for (std::size_t each = 0; each < m_series.size(); ++each) {
      if (const simulate::Row* row = rowOf(each, pin)) {
        const QPointF at = chart()->mapToPosition(QPointF(placeOf(row->size), valueOf(*row)), series);
        texts.push_back({valueText(*row), category(static_cast<int>(each), theme.scheme()), at.y()});
      }
    }
    addTexts(std::move(texts), x);
  }
}

void SpeedChart::togglePin(std::size_t size) {
  if (m_pins.erase(size) == 0) {
    m_pins.insert(size);
  }
  drawPins();
}

std::optional<std::size_t> SpeedChart::sizeAt(const QPointF& position) const {
  if (m_what == What::latency || chart()->series().isEmpty()) {
    return std::nullopt;
  }
  const QPointF value = chart()->mapToValue(chart()->mapFromScene(mapToScene(position.toPoint())));
  const auto& sizes = comparedSizes();
  return static_cast<std::size_t>(std::clamp<long long>(std::llround(value.x() - placeOf(sizes.front())), 0,
                                                        static_cast<long long>(sizes.size()) - 1));
}

std::optional<std::size_t> SpeedChart::pointAt(const QPointF& position) const {
  constexpr double kReach = 14;
  std::optional<std::size_t> nearest;
  double distance = kReach;
  for (std::size_t series = 0; series < m_series.size() && !chart()->series().isEmpty(); ++series) {
    if (const auto latency = latencyOf(m_series[series])) {
      const QPointF at =
          chart()->mapToPosition(QPointF(*latency, toGBps(m_series[series].result->algbw)), chart()->series().front());
      const double away = QLineF(mapFromScene(chart()->mapToScene(at)), position).length();
      if (away < distance) {
        distance = away;
        nearest = series;
      }
    }
  }
  return nearest;
}

QString SpeedChart::pointText(std::size_t series) const {
  const SpeedSeries& each = m_series[series];
  const std::vector<std::size_t> best = front();
  const bool isBest = std::find(best.begin(), best.end(), series) != best.end();
  return tr("%1 <b>%2</b>: %3 at %4, limit %5 GB/s, %6")
      .arg(dot(static_cast<int>(series)), each.name.toHtmlEscaped(), timeText(Microseconds(*latencyOf(each))),
           bytesText(comparedSizes().front()), exactly(each.result->algbw),
           isBest ? tr("on the Pareto front") : tr("another schedule is better in both"));
}

QString SpeedChart::valuesAt(std::size_t size) const {
  QString text = u"<b>%1</b>"_s.arg(bytesText(comparedSizes()[size]));
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    if (const simulate::Row* row = rowOf(series, size)) {
      text += u" &nbsp; %1 %2: <b>%3</b>"_s.arg(dot(static_cast<int>(series)), m_series[series].name.toHtmlEscaped(),
                                                valueText(*row));
    }
  }
  if (const auto bound = boundAt(size)) {
    text += u" &nbsp; "_s +
            tr("bound: <b>%1</b>")
                .arg(m_what == What::time ? timeText(Microseconds(*bound)) : QString::number(*bound, 'f', 2));
  }
  return text;
}

void SpeedChart::mouseMoveEvent(QMouseEvent* event) {
  QChartView::mouseMoveEvent(event);
  if (m_what == What::latency) {
    const auto point = pointAt(event->position());
    Q_EMIT told(point ? pointText(*point) : QString());
    return;
  }
  m_at = sizeAt(event->position());
  Q_EMIT told(m_at ? valuesAt(*m_at) : QString());
}

void SpeedChart::mousePressEvent(QMouseEvent* event) {
  QChartView::mousePressEvent(event);
  if (const auto size = sizeAt(event->position()); size && event->button() == Qt::LeftButton) {
    togglePin(*size);
  }
}

void SpeedChart::leaveEvent(QEvent* event) {
  QChartView::leaveEvent(event);
  Q_EMIT told({});
}

void SpeedChart::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const bool isPin = event->key() == Qt::Key_M || event->key() == Qt::Key_Return;
  if (m_what == What::latency || chart()->series().isEmpty() || (by == 0 && !isPin)) {
    QChartView::keyPressEvent(event);
    return;
  }
  const auto last = static_cast<std::ptrdiff_t>(comparedSizes().size()) - 1;
  const auto at = static_cast<std::ptrdiff_t>(m_at.value_or(0)) + (m_at ? by : 0);
  m_at = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, last));
  if (isPin) {
    togglePin(*m_at);
  }
  Q_EMIT told(valuesAt(*m_at));
}

QString SpeedChart::csv() const {
  QString text = u"schedule,algbw_exact_GBps,bound_exact_GBps,size_bytes,time_us,algbw_GBps,busbw_GBps\n"_s;
  for (const SpeedSeries& series : m_series) {
    QString name = series.name;
    name.replace(u'"', u"\"\""_s);
    for (const simulate::Row& row : series.prediction ? series.prediction->rows : std::vector<simulate::Row>()) {
      constexpr int kDigits = 9;
      text += u"\"%1\",%2,%3,%4,%5,%6,%7\n"_s
                  .arg(name, QString::fromStdString(toFraction(series.result->algbw)),
                       series.result->bound ? QString::fromStdString(toFraction(*series.result->bound)) : QString())
                  .arg(row.size)
                  .arg(row.time.count(), 0, 'g', kDigits)
                  .arg(row.algbw.gigabytesPerSecond(), 0, 'g', kDigits)
                  .arg(row.busbw.gigabytesPerSecond(), 0, 'g', kDigits);
    }
  }
  return text;
}

QString SpeedChart::ncclTestsText() const {
  QString text;
  for (const SpeedSeries& series : m_series) {
    if (series.prediction && !series.prediction->rows.empty()) {
      text += u"# "_s + series.name + u'\n' +
              QString::fromStdString(simulate::ncclTestsTextOf(series.prediction->rows,
                                                               std::string(toString(series.result->options.collective)),
                                                               series.result->root().value_or(-1)));
    }
  }
  return text;
}

}  // namespace coppice::designer
