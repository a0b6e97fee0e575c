// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/speed_chart.hpp"

#include <QKeyEvent>
#include <algorithm>
#include <utility>

#include "base/bus_factor.hpp"
#include "base/collective.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "simulate/report.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kBoundWidth = 1.2;

QString dot(int index) {
  return u"<span style='color:%1'>●</span>"_s.arg(category(index, Theme::instance().scheme()).name());
}

}  // namespace

std::optional<double> latencyOf(const SpeedSeries& series) {
  const simulate::Row* first = series.prediction ? series.prediction->at(comparedSizes().front()) : nullptr;
  return first != nullptr ? std::optional(first->time.count()) : std::nullopt;
}

SpeedChart::SpeedChart(QWidget* parent) : Plot(parent) {
  setFocusPolicy(Qt::StrongFocus);
  connect(this, &Plot::pointed, this, &SpeedChart::tell);
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (place.x && m_what != What::latency) {
      togglePin(nearestSize(comparedSizes(), *place.x));
    }
  });
  setDraw([this] { draw(); });
}

void SpeedChart::setSeries(std::vector<SpeedSeries> series, What what, const std::optional<Bandwidth>& bound) {
  m_series = std::move(series);
  m_what = what;
  m_bound = bound;
  setAccessibleName(what == What::latency ? tr("Limit against latency") : tr("Predicted speed against size"));
  redraw();
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
  if (m_what == What::latency) {
    drawLatency();
  } else {
    drawSizes();
    drawPins();
  }
}

void SpeedChart::drawSizes() {
  const std::vector<std::int64_t>& sizes = comparedSizes();
  constexpr int kFewSizes = 12;
  constexpr double kMarker = 4;
  setAxes({.scale = PlotAxis::Scale::sizes},
          {.title = m_what == What::time ? tr("µs") : tr("GB/s"), .scale = PlotAxis::Scale::logarithmic});
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    QList<QPointF> values;
    if (m_series[series].prediction) {
      for (const simulate::Row& row : m_series[series].prediction->rows) {
        if (row.size >= sizes.front() && row.size <= sizes.back()) {
          values.append({static_cast<double>(row.size), valueOf(row)});
        }
      }
    }
    if (!values.isEmpty()) {
      const auto index = static_cast<int>(series);
      // Of few sizes each point counts: a run may have measured one.
      addLine({}, values,
              {.color = category(index, Theme::instance().scheme()),
               .dash = categoryDash(index),
               .marker = values.size() < kFewSizes ? kMarker : 0});
    }
  }
  if (!isEmpty() && boundAt(0)) {
    QList<QPointF> bound;
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      bound.append({static_cast<double>(sizes[size]), *boundAt(size)});
    }
    // A bound on the time of the smallest sizes lies far below all that can be reached.
    addLine({}, bound,
            {.color = Theme::instance().color(Token::text),
             .width = kBoundWidth,
             .dash = Qt::DashLine,
             .isFitted = m_what != What::time});
  }
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
  setAxes(
      {.title = tr("time of %1, µs").arg(bytesText(comparedSizes().front())), .scale = PlotAxis::Scale::logarithmic},
      {.title = tr("limit, GB/s"), .fromZero = true});
  const auto pointOf = [this](std::size_t series) {
    return QPointF(*latencyOf(m_series[series]), toGBps(m_series[series].result->algbw));
  };
  QList<QPointF> steps;
  const std::vector<std::size_t> best = front();
  for (const std::size_t series : best) {
    // What comes next is better in the limit alone, and only from its own latency on.
    if (!steps.isEmpty()) {
      steps.append({pointOf(series).x(), steps.back().y()});
    }
    steps.append(pointOf(series));
  }
  if (steps.isEmpty()) {
    return;
  }
  addLine({}, steps, {.color = theme.color(Token::muted), .width = kBoundWidth, .dash = Qt::DotLine});
  m_points.clear();
  for (std::size_t series = 0; series < m_series.size(); ++series) {
    if (latencyOf(m_series[series])) {
      const bool isBest = std::find(best.begin(), best.end(), series) != best.end();
      const QColor color = category(static_cast<int>(series), theme.scheme());
      constexpr double kMarker = 11;
      m_points[itemCount()] = series;
      addPoints({}, {pointOf(series)},
                {.color = color, .fill = isBest ? color : theme.color(Token::canvas), .marker = kMarker});
    }
  }
  if (m_bound) {
    addLevel({}, toGBps(*m_bound), {.color = theme.color(Token::text), .width = kBoundWidth, .dash = Qt::DashLine});
  }
}

void SpeedChart::drawPins() {
  for (const std::size_t pin : m_pins) {
    const std::int64_t size = comparedSizes()[pin];
    PlotPin drawn{static_cast<double>(size), bytesText(size), {}};
    for (std::size_t each = 0; each < m_series.size(); ++each) {
      if (const simulate::Row* row = rowOf(each, pin)) {
        drawn.values.push_back(
            {valueText(*row), category(static_cast<int>(each), Theme::instance().scheme()), valueOf(*row)});
      }
    }
    addPin(std::move(drawn));
  }
}

void SpeedChart::togglePin(std::size_t size) {
  if (m_pins.erase(size) == 0) {
    m_pins.insert(size);
  }
  redraw();
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

void SpeedChart::tell(const PlotPlace& place) {
  QString text;
  if (m_what == What::latency) {
    text = place.hit ? pointText(m_points.at(place.hit->item)) : QString();
  } else if (place.x) {
    m_at = nearestSize(comparedSizes(), *place.x);
    text = valuesAt(*m_at);
  }
  Q_EMIT told(text);
}

void SpeedChart::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const bool isPin = event->key() == Qt::Key_M || event->key() == Qt::Key_Return;
  if (m_what == What::latency || isEmpty() || (by == 0 && !isPin)) {
    Plot::keyPressEvent(event);
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
