// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_chart.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QGraphicsLayout>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QVBoxLayout>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <QtCharts/QValueAxis>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "designer/run/panel_parts.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

enum What { kAlgbw, kBusbw, kTime };

double valueOf(const program::ResultRecord& result, int what) {
  return what == kTime ? result.time_us : (what == kBusbw ? result.busbw_GBps : result.algbw_GBps);
}

/// Where a size is on the axis: every doubling is one step.
double place(qint64 size) {
  return std::log2(static_cast<double>(std::max<qint64>(size, 1)));
}

QCategoryAxis* sizeAxis(const std::set<qint64>& sizes, double low, double high) {
  auto* x = new QCategoryAxis;
  x->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x->setStartValue(low);
  x->setRange(low, high);
  // At most a dozen labels, so that they do not run into each other.
  const std::size_t every = sizes.size() / 12 + 1;
  std::size_t number = 0;
  for (const qint64 size : sizes) {
    if (number++ % every == 0) {
      x->append(sizeText(size), place(size));
    }
  }
  return x;
}

QAbstractAxis* valueAxis(bool isLog, double lowest, double highest) {
  if (isLog) {
    auto* axis = new QLogValueAxis;
    axis->setBase(10);
    axis->setLabelFormat(u"%g"_s);
    axis->setRange(std::pow(10, std::floor(std::log10(lowest * 0.8))),
                   std::pow(10, std::ceil(std::log10(highest * 1.01))));
    // Over many decades the lines between them would be a grey band.
    constexpr double kMaxDecades = 2;
    axis->setMinorTickCount(axis->max() / axis->min() > std::pow(10, kMaxDecades + 0.5) ? 0 : 8);
    axis->setMinorGridLineColor(Theme::instance().color(Token::grid));
    return axis;
  }
  auto* axis = new QValueAxis;
  axis->setRange(0, highest * 1.05);
  axis->setTickCount(5);
  axis->setLabelFormat(highest > 100 ? u"%.0f"_s : u"%.1f"_s);
  axis->applyNiceNumbers();
  return axis;
}

void styleAxis(QAbstractAxis* axis) {
  const Theme& theme = Theme::instance();
  axis->setLabelsFont(figureFont(10.5));
  axis->setLabelsColor(theme.color(Token::muted));
  axis->setLinePenColor(theme.color(Token::line));
  axis->setGridLineColor(theme.color(Token::grid));
}

}  // namespace

RunChart::RunChart(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_what(new QComboBox(this)),
      m_scale(new QComboBox(this)),
      m_chart(new QChart),
      m_view(new QChartView(m_chart, this)),
      m_values(new QLabel(this)) {
  setUpPanel(this, u"runChart"_s, tr("Chart"));
  m_what->addItem(tr("algbw, GB/s"), kAlgbw);
  m_what->addItem(tr("busbw, GB/s"), kBusbw);
  m_what->addItem(tr("time, µs"), kTime);
  m_what->setObjectName(u"chartWhat"_s);
  m_what->setAccessibleName(tr("What the chart shows"));
  m_scale->addItem(tr("linear"));
  m_scale->addItem(tr("logarithmic"));
  // A bound far above what one machine reaches would press the curves flat.
  m_scale->setCurrentIndex(1);
  m_scale->setObjectName(u"chartScale"_s);
  m_scale->setAccessibleName(tr("Scale"));
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_view->setRenderHint(QPainter::Antialiasing);
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->setMouseTracking(true);
  m_view->viewport()->setMouseTracking(true);
  m_view->viewport()->installEventFilter(this);
  m_view->setAccessibleName(tr("Bandwidth against size"));
  m_chart->layout()->setContentsMargins(0, 0, 0, 0);
  // The dock is low: the room is for the lines.
  constexpr QMargins kMargins(8, 8, 8, 4);
  m_chart->setMargins(kMargins);
  m_chart->setBackgroundRoundness(0);
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, 0);
  head->setSpacing(kSmall);
  head->addWidget(m_what);
  head->addWidget(m_scale);
  head->addSpacing(kMargin);
  head->addWidget(m_values, 1);
  m_pages->addWidget(
      emptyLabel(tr("The bandwidths of a run are drawn here against the bound. Tick runs in the Runs dock "
                    "to compare them."),
                 this));
  m_pages->addWidget(panelPage(head, m_view, this));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  connect(m_what, &QComboBox::currentIndexChanged, this, &RunChart::rebuild);
  connect(m_scale, &QComboBox::currentIndexChanged, this, &RunChart::rebuild);
  connect(&Theme::instance(), &Theme::changed, this, &RunChart::rebuild);
}

void RunChart::setSeries(std::vector<Series> series) {
  m_series = std::move(series);
  rebuild();
}

void RunChart::rebuild() {
  const Theme& theme = Theme::instance();
  m_chart->removeAllSeries();
  for (QAbstractAxis* axis : m_chart->axes()) {
    m_chart->removeAxis(axis);
    delete axis;
  }
  const int what = m_what->currentData().toInt();
  const bool isLog = m_scale->currentIndex() == 1;
  std::set<qint64> sizes;
  double min = std::numeric_limits<double>::max();
  double max = 0;
  std::set<double> bounds;
  QList<QLineSeries*> lines;
  int index = 0;
  for (const Series& series : m_series) {
    for (const bool isIn : {false, true}) {
      auto* line = new QLineSeries;
      for (const ResultRow& row : series.data->rows()) {
        const std::optional<program::ResultRecord>& half = isIn ? row.inPlace : row.outOfPlace;
        if (!half) {
          continue;
        }
        const double value = valueOf(*half, what);
        if (!(value > 0) || !std::isfinite(value)) {
          continue;
        }
        sizes.insert(row.size);
        min = std::min(min, value);
        max = std::max(max, value);
        line->append(place(row.size), value);
      }
      if (line->count() == 0) {
        delete line;
        continue;
      }
      line->setName(isIn ? tr("in place: %1").arg(series.name) : series.name);
      // Colour tells the run, the dash tells in place.
      QPen pen(category(index, theme.scheme()), 2, isIn ? Qt::DotLine : Qt::SolidLine);
      line->setPen(pen);
      line->setPointsVisible(!isIn);
      line->setMarkerSize(6);
      lines << line;
    }
    if (what == kAlgbw && series.data->plan() && series.data->plan()->boundGBps) {
      bounds.insert(*series.data->plan()->boundGBps);
    }
    ++index;
  }
  m_hasPoints = !lines.isEmpty();
  m_pages->setCurrentIndex(m_hasPoints ? 1 : 0);
  if (!m_hasPoints) {
    return;
  }
  const double first = place(*sizes.begin());
  const double last = std::max(place(*sizes.rbegin()), first + 1);
  // Room for the points of the first and the last size.
  const double aside = (last - first) * 0.03;
  for (const double bound : bounds) {
    max = std::max(max, bound);
    auto* line = new QLineSeries;
    line->setName(tr("bound %1").arg(bound, 0, 'f', 2));
    line->append(first - aside, bound);
    line->append(last + aside, bound);
    line->setPen(QPen(theme.color(Token::cut), 1.5, Qt::DashLine));
    lines << line;
  }
  QCategoryAxis* x = sizeAxis(sizes, first - aside, last + aside);
  QAbstractAxis* y = valueAxis(isLog, min, max);
  m_chart->addAxis(x, Qt::AlignBottom);
  m_chart->addAxis(y, Qt::AlignLeft);
  styleAxis(x);
  styleAxis(y);
  for (QLineSeries* line : lines) {
    m_chart->addSeries(line);
    line->attachAxis(x);
    line->attachAxis(y);
  }
  styleChart();
  m_values->setText(u"<span style='color:%1'>%2</span>"_s.arg(theme.color(Token::muted).name(),
                                                              tr("Point at a size to see its values")));
}

void RunChart::styleChart() {
  const Theme& theme = Theme::instance();
  m_chart->setBackgroundBrush(theme.color(Token::panel));
  m_chart->setPlotAreaBackgroundBrush(theme.color(Token::canvas));
  m_chart->setPlotAreaBackgroundVisible(true);
  m_view->setBackgroundBrush(theme.color(Token::panel));
  m_chart->legend()->setAlignment(Qt::AlignRight);
  m_chart->legend()->setFont(uiFont(11.5));
  m_chart->legend()->setLabelColor(theme.color(Token::text));
  m_chart->legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
}

bool RunChart::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseMove && m_hasPoints) {
    hover(static_cast<QMouseEvent*>(event)->position());
  }
  return QWidget::eventFilter(watched, event);
}

void RunChart::hover(const QPointF& position) {
  // The size that is nearest, and all series there.
  const QPointF value = m_chart->mapToValue(m_chart->mapFromScene(m_view->mapToScene(position.toPoint())));
  qint64 nearest = 0;
  double distance = std::numeric_limits<double>::max();
  for (const Series& series : m_series) {
    for (const ResultRow& row : series.data->rows()) {
      const double away = std::abs(place(row.size) - value.x());
      if (away < distance) {
        distance = away;
        nearest = row.size;
      }
    }
  }
  const Theme& theme = Theme::instance();
  const int what = m_what->currentData().toInt();
  QString text = u"<b>%1</b>"_s.arg(sizeText(nearest));
  int index = 0;
  for (const Series& series : m_series) {
    for (const ResultRow& row : series.data->rows()) {
      if (row.size != nearest) {
        continue;
      }
      const program::ResultRecord& result = row.any();
      text += u" &nbsp; <span style='color:%1'>●</span> %2: <b>%3</b>"_s.arg(
          category(index, theme.scheme()).name(), series.name.toHtmlEscaped(),
          QString::number(valueOf(result, what), 'f', 2));
      if (what == kAlgbw && result.boundPercent && noBoundReason(*series.data).isEmpty()) {
        text += tr(" (%1 % of the bound)").arg(*result.boundPercent, 0, 'f', 1);
      }
    }
    ++index;
  }
  m_values->setText(text);
}

}  // namespace coppice::designer
