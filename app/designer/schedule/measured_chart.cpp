// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/measured_chart.hpp"

#include <QEvent>
#include <QGraphicsLayout>
#include <QMouseEvent>
#include <QPen>
#include <QVBoxLayout>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bus_factor.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedule/chart_style.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using Measure = MeasuredChart::What;

double place(std::int64_t size) {
  return std::log2(static_cast<double>(size));
}

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

MeasuredChart::MeasuredChart(QWidget* parent)
    : QWidget(parent), m_values(new QLabel(this)), m_chart(new QChart), m_view(new QChartView(m_chart, this)) {
  setObjectName(u"measuredChart"_s);
  m_values->setObjectName(u"measuredValues"_s);
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_view->setAccessibleName(tr("Measured and predicted speed against size"));
  m_view->setRenderHint(QPainter::Antialiasing);
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->viewport()->setMouseTracking(true);
  m_view->viewport()->installEventFilter(this);
  m_chart->layout()->setContentsMargins(0, 0, 0, 0);
  constexpr QMargins kMargins(4, 0, 20, 0);
  m_chart->setMargins(kMargins);
  m_chart->setBackgroundRoundness(0);
  m_chart->legend()->setAlignment(Qt::AlignTop);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_view, 1);
  layout->addWidget(m_values);
  connect(&Theme::instance(), &Theme::changed, this, &MeasuredChart::draw);
  draw();
}

void MeasuredChart::setComparison(RunComparisonPtr comparison) {
  m_comparison = std::move(comparison);
  draw();
}

void MeasuredChart::setWhat(What what) {
  m_what = what;
  draw();
}

QStringList MeasuredChart::lineNames() const {
  QStringList names;
  for (const QAbstractSeries* series : m_chart->series()) {
    names << series->name();
  }
  return names;
}

QList<QLineSeries*> MeasuredChart::makeLines() const {
  const Theme& theme = Theme::instance();
  constexpr double kLine = 1.8;
  constexpr double kMarker = 4;
  const auto make = [&](const QString& name, int index, Qt::PenStyle style) {
    auto* line = new QLineSeries;
    line->setName(name);
    line->setPen(QPen(category(index, theme.scheme()), kLine, style));
    line->setPointsVisible(index > 0);
    line->setMarkerSize(kMarker);
    return line;
  };
  QLineSeries* predicted = make(tr("predicted"), 0, Qt::SolidLine);
  for (const simulate::Row& row : m_comparison->predicted) {
    predicted->append(place(row.size), valueOf(row, m_what));
  }
  QLineSeries* outOfPlace = make(tr("measured"), 1, Qt::DashLine);
  QLineSeries* inPlace = make(tr("measured in place"), 2, Qt::DotLine);
  for (const io::NcclRow& row : m_comparison->run->rows) {
    for (const auto& [line, half] : {std::pair(outOfPlace, row.outOfPlace), std::pair(inPlace, row.inPlace)}) {
      if (half && valueOf(*half, m_what) > 0) {
        line->append(place(row.size), valueOf(*half, m_what));
      }
    }
  }
  QList<QLineSeries*> lines;
  for (QLineSeries* line : {predicted, outOfPlace, inPlace}) {
    if (line->count() > 0) {
      lines << line;
    } else {
      delete line;
    }
  }
  return lines;
}

QLineSeries* MeasuredChart::makeBound(double first, double last) const {
  const ScheduleResult& result = *m_comparison->result;
  if (!result.bound || m_what == Measure::time) {
    return nullptr;
  }
  const Rational factor = m_what == Measure::busbw
                              ? busFactor(schedule::collectiveOf(result.schedule), result.fabric->gpuCount())
                              : Rational(1);
  const double value = toGBps(*result.bound * factor);
  auto* bound = new QLineSeries;
  bound->setName(tr("bound"));
  bound->setPen(QPen(Theme::instance().color(Token::text), 1.4, Qt::DashLine));
  bound->append(first, value);
  bound->append(last, value);
  return bound;
}

void MeasuredChart::addAxes(double first, double last, double min, double max) {
  auto* x = new QCategoryAxis;
  x->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x->setStartValue(first);
  x->setRange(first, last);
  constexpr std::size_t kLabels = 7;
  const auto& rows = m_comparison->run->rows;
  for (std::size_t at = 0; at < rows.size(); at += rows.size() / kLabels + 1) {
    x->append(bytesText(rows[at].size), place(rows[at].size));
  }
  auto* y = new QLogValueAxis;
  constexpr double kBase = 10;
  y->setBase(kBase);
  y->setLabelFormat(u"%g"_s);
  y->setTitleText(m_what == Measure::time    ? tr("time, µs")
                  : m_what == Measure::busbw ? tr("busbw, GB/s")
                                             : tr("algbw, GB/s"));
  y->setRange(std::pow(kBase, std::floor(std::log10(min))), std::pow(kBase, std::ceil(std::log10(max * 1.01))));
  m_chart->addAxis(x, Qt::AlignBottom);
  m_chart->addAxis(y, Qt::AlignLeft);
  styleAxis(*x);
  styleAxis(*y);
}

void MeasuredChart::draw() {
  m_chart->removeAllSeries();
  for (QAbstractAxis* axis : m_chart->axes()) {
    m_chart->removeAxis(axis);
    delete axis;
  }
  styleChart(*m_chart, *m_view);
  m_values->clear();
  if (!m_comparison || !m_comparison->run || m_comparison->run->rows.empty()) {
    return;
  }
  QList<QLineSeries*> lines = makeLines();
  if (lines.isEmpty()) {
    return;
  }
  const double first = place(m_comparison->run->rows.front().size);
  const double last = std::max(place(m_comparison->run->rows.back().size), first + 1);
  if (QLineSeries* bound = makeBound(first, last)) {
    lines << bound;
  }
  double min = lines.front()->points().front().y();
  double max = min;
  for (const QLineSeries* line : lines) {
    for (const QPointF& point : line->points()) {
      min = std::min(min, point.y());
      max = std::max(max, point.y());
    }
  }
  addAxes(first, last, min, max);
  for (QLineSeries* line : lines) {
    m_chart->addSeries(line);
    for (QAbstractAxis* axis : m_chart->axes()) {
      line->attachAxis(axis);
    }
  }
}

QString MeasuredChart::valuesAt(const QPointF& position) const {
  if (m_chart->series().isEmpty()) {
    return {};
  }
  const double at = m_chart->mapToValue(position).x();
  const auto& rows = m_comparison->run->rows;
  const auto row = std::min_element(rows.begin(), rows.end(), [&](const io::NcclRow& a, const io::NcclRow& b) {
    return std::abs(place(a.size) - at) < std::abs(place(b.size) - at);
  });
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

bool MeasuredChart::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseMove) {
    const QPoint position = static_cast<QMouseEvent*>(event)->position().toPoint();
    m_values->setText(valuesAt(m_chart->mapFromScene(m_view->mapToScene(position))));
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace coppice::designer
