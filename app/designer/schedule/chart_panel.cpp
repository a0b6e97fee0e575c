// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/chart_panel.hpp"

#include <QAreaSeries>
#include <QBarCategoryAxis>
#include <QBarSeries>
#include <QBarSet>
#include <QClipboard>
#include <QGraphicsLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLegendMarker>
#include <QLineSeries>
#include <QMenu>
#include <QPainter>
#include <QScatterSeries>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <QValueAxis>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedule/chart_style.hpp"
#include "designer/schedule/empty_page.hpp"
#include "designer/schedule/picture_file.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kBins = 10;

/// With a title, and styled.
void setTitle(QAbstractAxis& axis, const QString& title) {
  axis.setTitleText(title);
  styleAxis(axis);
}

/// An empty chart.
QChart* emptied(QChartView& view) {
  QChart* chart = view.chart();
  clearChart(*chart);
  styleChart(*chart, view);
  chart->setBackgroundRoundness(0);
  chart->setPlotAreaBackgroundVisible(false);
  constexpr QMargins kMargins(4, 0, 8, 0);
  chart->setMargins(kMargins);
  chart->layout()->setContentsMargins(0, 0, 0, 0);
  chart->legend()->setAlignment(Qt::AlignTop);
  chart->legend()->setContentsMargins(0, 0, 0, 0);
  return chart;
}

/// Round ends and ticks around [low, high].
void setRange(QValueAxis* axis, double low, double high) {
  // Nothing lies on the frame, also where all is the same.
  const double span = std::max(high - low, high * 0.02);
  low = low > 0 ? std::min(low, high - span) - span * 0.1 : low;
  const double step = std::pow(10, std::floor(std::log10(std::max(span, 1e-9))));
  const double tick = span / step > 5 ? 2 * step : span / step > 2 ? step : step / 2;
  axis->setRange(std::max(0.0, std::floor(low / tick) * tick), std::ceil(high / tick + 0.15) * tick);
  axis->setTickType(QValueAxis::TicksDynamic);
  axis->setTickAnchor(0);
  axis->setTickInterval(tick);
  axis->setLabelFormat(tick < 1 ? u"%.1f"_s : u"%.0f"_s);
}

}  // namespace

ChartPanel::ChartPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_heading(new QLabel(this)),
      m_unit(new QComboBox(this)),
      m_maxK(new QSpinBox(this)),
      m_state(new QLabel(this)),
      m_treeCount(makeView(u"chartTreeCount"_s, tr("Throughput against trees per root"), Which::treeCount)),
      m_histogram(makeView(u"chartLoads"_s, tr("Loads of links"), Which::histogram)),
      m_job([this](const Found& found) { receive(found); }, 0ms) {
  setObjectName(u"chartPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_unit->setObjectName(u"chartUnit"_s);
  m_unit->setAccessibleName(tr("Scale of the throughput"));
  m_unit->addItem(tr("GB/s"));
  m_unit->addItem(tr("loss, %"));
  m_maxK->setObjectName(u"chartMaxK"_s);
  m_maxK->setRange(2, static_cast<int>(kMaxScannedK));
  constexpr int kUsualK = 12;
  m_maxK->setValue(kUsualK);
  m_maxK->setPrefix(tr("k up to "));
  m_maxK->setAccessibleName(tr("Largest number of trees per root"));
  m_state->setObjectName(u"chartState"_s);
  m_state->setProperty("role", u"muted"_s);
  auto* body = new QWidget(m_pages);
  auto* line = new QHBoxLayout;
  constexpr int kMargin = 8;
  line->setContentsMargins(kMargin, kMargin / 2, kMargin, 0);
  line->setSpacing(2 * kMargin);
  constexpr double kHeadingPixels = 13;
  auto* loads = new QLabel(tr("Loads of links, each direction"), this);
  for (QLabel* heading : {m_heading, loads}) {
    heading->setFont(uiFont(kHeadingPixels, QFont::DemiBold));
  }
  auto* left = new QHBoxLayout;
  left->setSpacing(2 * kMargin);
  left->addWidget(m_heading);
  left->addWidget(m_unit);
  left->addWidget(m_maxK);
  left->addWidget(m_state, 1);
  line->addLayout(left, 1);
  line->addWidget(loads, 1);
  auto* charts = new QHBoxLayout;
  charts->setSpacing(0);
  charts->setContentsMargins({});
  charts->addWidget(m_treeCount, 1);
  charts->addWidget(m_histogram, 1);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(line);
  layout->addLayout(charts, 1);
  auto* empty = new EmptyPage(tr("Throughput against the number of trees, and how evenly the links are used."),
                              tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &ChartPanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(body);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);
  connect(m_maxK, &QSpinBox::valueChanged, this, [this] {
    std::erase_if(m_values, [this](const KValue& value) { return value.k > m_maxK->value(); });
    draw();
    follow();
  });
  connect(m_unit, &QComboBox::currentIndexChanged, this, &ChartPanel::draw);
  connect(&Theme::instance(), &Theme::changed, this, &ChartPanel::draw);
}

ChartPanel::~ChartPanel() = default;

QChartView* ChartPanel::makeView(const QString& name, const QString& title, Which which) {
  auto* view = new QChartView(new QChart, this);
  view->setObjectName(name);
  view->setAccessibleName(title);
  view->setRenderHint(QPainter::Antialiasing);
  view->setFrameShape(QFrame::NoFrame);
  constexpr QSize kMin(220, 110);
  view->setMinimumSize(kMin);
  auto* more = new QToolButton(view->viewport());
  more->setObjectName(name + u"More"_s);
  more->setIcon(icon(u"more"_s));
  more->setToolTip(tr("Save or copy this chart"));
  more->setAccessibleName(tr("Save or copy: %1").arg(title));
  more->setPopupMode(QToolButton::InstantPopup);
  more->setAutoRaise(true);
  auto* menu = new QMenu(more);
  menu->addAction(tr("Save Picture…"), this, [this, which] { Q_EMIT pictureWanted(which); });
  menu->addAction(tr("Copy Numbers as CSV"), this,
                  [this, which] { QGuiApplication::clipboard()->setText(csv(which)); });
  more->setMenu(menu);
  more->setStyleSheet(u"QToolButton::menu-indicator { image: none; }"_s);
  auto* over = new QVBoxLayout(view->viewport());
  over->setContentsMargins({});
  over->addWidget(more, 0, Qt::AlignTop | Qt::AlignRight);
  return view;
}

void ChartPanel::setResult(ScheduleResultPtr result) {
  if (m_result == result) {
    return;
  }
  const bool isSameQuestion = m_result && result && m_result->fabricDigest() == result->fabricDigest() &&
                              m_result->options.collective == result->options.collective &&
                              m_result->root() == result->root();
  m_result = std::move(result);
  if (!isSameQuestion) {
    m_job.cancel();
    m_ordered = 0;
    m_values.clear();
    m_why.clear();
  }
  if (m_result && m_values.size() < m_result->scanned.size()) {
    m_values = m_result->scanned;
    m_maxK->setValue(std::max(m_maxK->value(), static_cast<int>(m_values.size())));
  }
  m_pages->setCurrentIndex(m_result ? 1 : 0);
  draw();
  follow();
}

void ChartPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void ChartPanel::follow() {
  const auto next = static_cast<std::int64_t>(m_values.size()) + 1;
  const bool isWanted =
      m_result && m_result->forests() != nullptr && isVisible() && m_why.isEmpty() && next <= m_maxK->value();
  if (isWanted && m_ordered != next) {
    m_ordered = next;
    m_job.submit([result = m_result, next](std::stop_token stop) {
      Progress progress;
      progress.stop = std::move(stop);
      Found found{next, {}, {}};
      const Outcome done = scanTreeCounts(
          *result->fabric, result->options, next, next, [&](const KValue& value) { found.value = value; }, progress);
      if (!done) {
        found.why = sentence(done.error());
      }
      return found;
    });
  }
  m_state->setText(!m_why.isEmpty() ? m_why : isWanted ? tr("Trying k = %1…").arg(next) : QString());
}

void ChartPanel::receive(const Found& found) {
  m_ordered = 0;
  if (!m_result || m_result->forests() == nullptr) {
    return;
  }
  if (found.value && found.k == static_cast<std::int64_t>(m_values.size()) + 1) {
    m_values.push_back(*found.value);
  } else if (!found.value) {
    m_why = found.why;
  }
  drawTreeCount();
  follow();
}

void ChartPanel::draw() {
  const bool hasSteps = m_result && m_result->forests() == nullptr;
  m_maxK->setVisible(!hasSteps);
  m_unit->setVisible(!hasSteps);
  m_heading->setText(hasSteps ? tr("Time of steps") : tr("Throughput"));
  if (hasSteps) {
    drawSteps();
  } else {
    drawTreeCount();
  }
  drawHistogram();
}

void ChartPanel::drawTreeCount() {
  QChart* chart = emptied(*m_treeCount);
  if (!m_result || m_result->forests() == nullptr) {
    return;
  }
  const Theme& theme = Theme::instance();
  const Bandwidth bound = m_result->forests()->bound;
  const bool isLoss = m_unit->currentIndex() == 1;
  constexpr double kHundred = 100;
  const auto shown = [&](const Bandwidth& algbw) {
    return isLoss ? kHundred * (Rational(1) - algbw / bound).toDouble() : toGBps(algbw);
  };
  auto* line = new QLineSeries;
  auto* points = new QScatterSeries;
  double min = shown(bound);
  double max = shown(bound);
  for (const KValue& value : m_values) {
    const double at = shown(value.algbw);
    line->append(static_cast<double>(value.k), at);
    points->append(static_cast<double>(value.k), at);
    min = std::min(min, at);
    max = std::max(max, at);
  }
  constexpr double kLine = 1.6;
  constexpr double kMarker = 8;
  line->setName(tr("with k trees per root"));
  line->setPen(QPen(theme.color(Token::accent), kLine));
  points->setMarkerSize(kMarker);
  points->setColor(theme.color(Token::accent));
  points->setBorderColor(theme.color(Token::panel));
  auto* top = new QLineSeries;
  top->setName(tr("bound, %1 GB/s").arg(decimal(bound)));
  const double end = static_cast<double>(m_maxK->value()) + 0.5;
  top->append(0.5, shown(bound));
  top->append(end, shown(bound));
  top->setPen(QPen(theme.color(Token::text), kLine, Qt::DashLine));
  auto* x = new QValueAxis;
  setTitle(*x, tr("trees per root, k"));
  x->setRange(0.5, end);
  x->setTickType(QValueAxis::TicksDynamic);
  x->setTickAnchor(1);
  constexpr int kMaxTicks = 16;
  x->setTickInterval(m_maxK->value() > kMaxTicks ? 4 : 1);
  x->setLabelFormat(u"%d"_s);
  x->setGridLineVisible(false);
  auto* y = new QValueAxis;
  setTitle(*y, isLoss ? tr("loss, %") : tr("GB/s"));
  setRange(y, min, std::max(max, isLoss ? 1.0 : 0.0));
  chart->addAxis(x, Qt::AlignBottom);
  chart->addAxis(y, Qt::AlignLeft);
  for (QXYSeries* series :
       {static_cast<QXYSeries*>(line), static_cast<QXYSeries*>(top), static_cast<QXYSeries*>(points)}) {
    chart->addSeries(series);
    series->attachAxis(x);
    series->attachAxis(y);
  }
  for (QLegendMarker* marker : chart->legend()->markers(points)) {
    marker->setVisible(false);
  }
  const auto tip = [this](const QPointF& point, bool isOn) {
    const auto at = static_cast<std::size_t>(std::llround(point.x()) - 1);
    if (!isOn || at >= m_values.size()) {
      QToolTip::hideText();
      return;
    }
    const KValue& value = m_values[at];
    QToolTip::showText(QCursor::pos(),
                       tr("k = %1: %2 GB/s, %3 of the bound, loses %4")
                           .arg(value.k)
                           .arg(exactly(value.algbw), percentOf(value.algbw, m_result->forests()->bound),
                                percentOf(m_result->forests()->bound - value.algbw, m_result->forests()->bound)),
                       m_treeCount);
  };
  connect(points, &QXYSeries::hovered, this, tip);
  connect(line, &QXYSeries::hovered, this, tip);
  connect(top, &QXYSeries::hovered, this, [this](const QPointF&, bool isOn) {
    if (isOn) {
      QToolTip::showText(QCursor::pos(), tr("Bound: %1 GB/s").arg(exactly(m_result->forests()->bound)), m_treeCount);
    } else {
      QToolTip::hideText();
    }
  });
}

void ChartPanel::drawSteps() {
  QChart* chart = emptied(*m_treeCount);
  chart->legend()->hide();
  const schedule::StepCost& cost = *m_result->cost;
  const double total = cost.timePerByte.perGBps().toDouble();
  constexpr double kHundred = 100;
  auto* top = new QLineSeries;
  double max = 0;
  for (std::size_t step = 0; step < cost.stepLoads.size(); ++step) {
    const double share = kHundred * cost.stepLoads[step].time.perGBps().toDouble() / total;
    const double at = static_cast<double>(step) + 1;
    top->append(at - 0.5, share);
    top->append(at + 0.5, share);
    max = std::max(max, share);
  }
  const Theme& theme = Theme::instance();
  auto* area = new QAreaSeries(top);
  area->setParent(chart);
  top->setParent(area);
  QColor fill = theme.color(Token::accent);
  fill.setAlphaF(0.25F);
  area->setBrush(fill);
  area->setPen(QPen(theme.color(Token::accent), 1.6));
  const auto steps = static_cast<double>(cost.stepLoads.size());
  auto* x = new QValueAxis;
  setTitle(*x, m_result->stepSchedule()->isSynchronous ? tr("step") : tr("phase"));
  x->setRange(0.5, steps + 0.5);
  x->setTickType(QValueAxis::TicksDynamic);
  x->setTickAnchor(1);
  constexpr double kMaxTicks = 16;
  x->setTickInterval(std::max(1.0, std::ceil(steps / kMaxTicks)));
  x->setLabelFormat(u"%.0f"_s);
  x->setGridLineVisible(false);
  auto* y = new QValueAxis;
  setTitle(*y, tr("% of the time"));
  setRange(y, 0, std::max(max, 1.0));
  chart->addAxis(x, Qt::AlignBottom);
  chart->addAxis(y, Qt::AlignLeft);
  chart->addSeries(area);
  area->attachAxis(x);
  area->attachAxis(y);
}

QString ChartPanel::stepsCsv() const {
  QString text = u"step,time_per_byte_exact,share_percent\n"_s;
  const schedule::StepCost& cost = *m_result->cost;
  constexpr double kHundred = 100;
  for (std::size_t step = 0; step < cost.stepLoads.size(); ++step) {
    const Rational& time = cost.stepLoads[step].time.perGBps();
    text += u"%1,%2,%3\n"_s.arg(step + 1)
                .arg(QString::fromStdString(time.toString()))
                .arg(kHundred * time.toDouble() / cost.timePerByte.perGBps().toDouble(), 0, 'g', 12);
  }
  return text;
}

std::vector<int> ChartPanel::histogram() const {
  std::vector<int> bins(kBins, 0);
  if (m_result) {
    for (const ArcLoad& load : m_result->loads) {
      const double share = toGBps(load.rate) / toGBps(load.bandwidth);
      ++bins[std::clamp(static_cast<int>(share * kBins), 0, kBins - 1)];
    }
  }
  return bins;
}

void ChartPanel::drawHistogram() {
  QChart* chart = emptied(*m_histogram);
  chart->legend()->hide();
  if (!m_result) {
    return;
  }
  const Theme& theme = Theme::instance();
  const std::vector<int> bins = histogram();
  auto* set = new QBarSet(tr("link directions"));
  QStringList names;
  for (int bin = 0; bin < kBins; ++bin) {
    *set << bins[bin];
    names << QString::number((bin + 1) * 100 / kBins);
  }
  set->setColor(theme.color(Token::switchLine));
  set->setBorderColor(theme.color(Token::panel));
  auto* series = new QBarSeries;
  series->setBarWidth(0.9);
  series->append(set);
  chart->addSeries(series);
  // The bars stand on categories, whose labels need more room than a narrow bar has; the scale is one of numbers.
  auto* categories = new QBarCategoryAxis;
  categories->append(names);
  categories->setVisible(false);
  auto* scale = new QLineSeries;
  chart->addSeries(scale);
  auto* x = new QValueAxis;
  setTitle(*x, tr("load, % of bandwidth"));
  x->setRange(0, 100);
  x->setTickType(QValueAxis::TicksDynamic);
  x->setTickInterval(25);
  x->setLabelFormat(u"%.0f"_s);
  x->setGridLineVisible(false);
  auto* y = new QValueAxis;
  setTitle(*y, tr("links"));
  const int max = std::max(1, *std::max_element(bins.begin(), bins.end()));
  setRange(y, 0, max);
  y->setTickInterval(std::max(1.0, y->tickInterval()));
  y->setLabelFormat(u"%.0f"_s);
  chart->addAxis(categories, Qt::AlignBottom);
  chart->addAxis(x, Qt::AlignBottom);
  chart->addAxis(y, Qt::AlignLeft);
  series->attachAxis(categories);
  series->attachAxis(y);
  scale->attachAxis(x);
  scale->attachAxis(y);
  connect(series, &QBarSeries::hovered, this, [this, bins](bool isOn, int bin) {
    if (isOn && bin >= 0 && bin < kBins) {
      QToolTip::showText(QCursor::pos(),
                         tr("%1 of %2 are loaded %3 to %4 %")
                             .arg(bins[bin])
                             .arg(m_result->loads.size())
                             .arg(bin * 100 / kBins)
                             .arg((bin + 1) * 100 / kBins),
                         m_histogram);
    } else {
      QToolTip::hideText();
    }
  });
}

QString ChartPanel::csv(Which which) const {
  QString text;
  if (!m_result) {
    return text;
  }
  if (which == Which::treeCount && m_result->forests() == nullptr) {
    return stepsCsv();
  }
  if (which == Which::treeCount) {
    text = u"k,algbw_GBps,algbw_exact,bound_GBps,bound_exact\n"_s;
    for (const KValue& value : m_values) {
      text += u"%1,%2,%3,%4,%5\n"_s.arg(value.k)
                  .arg(toGBps(value.algbw), 0, 'g', 12)
                  .arg(QString::fromStdString(toFraction(value.algbw)))
                  .arg(toGBps(m_result->forests()->bound), 0, 'g', 12)
                  .arg(QString::fromStdString(toFraction(m_result->forests()->bound)));
    }
    return text;
  }
  text = u"load_from_percent,load_to_percent,links\n"_s;
  const std::vector<int> bins = histogram();
  for (int bin = 0; bin < kBins; ++bin) {
    text += u"%1,%2,%3\n"_s.arg(bin * 100 / kBins).arg((bin + 1) * 100 / kBins).arg(bins[bin]);
  }
  return text;
}

Outcome ChartPanel::savePicture(Which which, const QString& path) const {
  return saveChartPicture(path, which == Which::treeCount ? *m_treeCount : *m_histogram);
}

}  // namespace coppice::designer
