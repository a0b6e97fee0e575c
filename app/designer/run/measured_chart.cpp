// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/measured_chart.hpp"

#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "base/bus_factor.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using Measure = MeasuredChart::What;

double valueOf(const io::NcclTime& time, Measure what) {
  return what == Measure::time ? time.time.count()
                               : (what == Measure::busbw ? time.busbw : time.algbw).gigabytesPerSecond();
}

double valueOf(const simulate::Row& row, Measure what) {
  return what == Measure::time ? row.time.count()
                               : (what == Measure::busbw ? row.busbw : row.algbw).gigabytesPerSecond();
}

QString textOf(double value, Measure what) {
  return what == Measure::time ? timeText(Microseconds(value)) : QString::number(value, 'f', 2);
}

}  // namespace

MeasuredChart::MeasuredChart(QWidget* parent) : QWidget(parent), m_values(new QLabel(this)), m_plot(new Plot(this)) {
  setObjectName(u"measuredChart"_s);
  m_values->setObjectName(u"measuredValues"_s);
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_plot->setAccessibleName(tr("Measured and predicted speed against size"));
  m_plot->setDraw([this] { draw(); });
  connect(m_plot, &Plot::pointed, this, [this](const PlotPlace& place) {
    if (place.x) {
      m_values->setText(valuesAt(*place.x));
    }
  });
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_plot, 1);
  layout->addWidget(m_values);
}

void MeasuredChart::setComparison(RunComparisonPtr comparison) {
  m_comparison = std::move(comparison);
  m_plot->redraw();
}

void MeasuredChart::setWhat(What what) {
  m_what = what;
  m_plot->redraw();
}

void MeasuredChart::draw() {
  m_values->clear();
  if (!m_comparison || !m_comparison->run || m_comparison->run->rows.empty()) {
    return;
  }
  m_plot->setAxes({.scale = PlotAxis::Scale::sizes}, {.title = m_what == What::time    ? tr("time, µs")
                                                               : m_what == What::busbw ? tr("busbw, GB/s")
                                                                                       : tr("algbw, GB/s"),
                                                      .scale = PlotAxis::Scale::logarithmic});
  const auto add = [this](const QString& name, const QList<QPointF>& values, int index, Qt::PenStyle dash) {
    constexpr double kMarker = 4;
    if (!values.isEmpty()) {
      m_plot->addLine(
          name, values,
          {.color = category(index, Theme::instance().scheme()), .dash = dash, .marker = index > 0 ? kMarker : 0});
    }
  };
  QList<QPointF> predicted;
  for (const simulate::Row& row : m_comparison->predicted) {
    predicted.append({static_cast<double>(row.size), valueOf(row, m_what)});
  }
  QList<QPointF> outOfPlace;
  QList<QPointF> inPlace;
  for (const io::NcclRow& row : m_comparison->run->rows) {
    for (const auto& [values, half] : {std::pair(&outOfPlace, row.outOfPlace), std::pair(&inPlace, row.inPlace)}) {
      if (half && valueOf(*half, m_what) > 0) {
        values->append({static_cast<double>(row.size), valueOf(*half, m_what)});
      }
    }
  }
  add(tr("predicted"), predicted, 0, Qt::SolidLine);
  add(tr("measured"), outOfPlace, 1, Qt::DashLine);
  add(tr("measured in place"), inPlace, 2, Qt::DotLine);
  if (!m_plot->isEmpty()) {
    addBound();
  }
}

void MeasuredChart::addBound() {
  const ScheduleResult& result = *m_comparison->result;
  if (!result.bound || m_what == Measure::time) {
    return;
  }
  const Rational factor = m_what == Measure::busbw
                              ? busFactor(schedule::collectiveOf(result.schedule), result.fabric->gpuCount())
                              : Rational(1);
  constexpr double kWidth = 1.4;
  m_plot->addLevel(tr("bound"), toGBps(*result.bound * factor),
                   {.color = Theme::instance().color(Token::text), .width = kWidth, .dash = Qt::DashLine});
}

QString MeasuredChart::valuesAt(double bytes) const {
  const auto& rows = m_comparison->run->rows;
  std::vector<std::int64_t> sizes;
  for (const io::NcclRow& row : rows) {
    sizes.push_back(row.size);
  }
  const auto row = rows.begin() + static_cast<std::ptrdiff_t>(nearestSize(sizes, bytes));
  QString text = u"<b>%1</b>"_s.arg(bytesText(row->size));
  const auto predicted = std::find_if(m_comparison->predicted.begin(), m_comparison->predicted.end(),
                                      [&](const simulate::Row& each) { return each.size == row->size; });
  const auto add = [&](const QString& name, double value) {
    text += u" · %1 <b>%2</b>"_s.arg(name, textOf(value, m_what));
  };
  if (predicted != m_comparison->predicted.end()) {
    add(tr("predicted"), valueOf(*predicted, m_what));
  }
  for (const auto& [name, half] :
       {std::pair(tr("measured"), row->outOfPlace), std::pair(tr("in place"), row->inPlace)}) {
    if (half) {
      add(name, valueOf(*half, m_what));
    }
  }
  return text;
}

}  // namespace coppice::designer
