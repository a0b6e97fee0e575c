// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/chart_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "designer/charts/picture_file.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kBins = 10;

}  // namespace

ChartPanel::ChartPanel(Which which, QWidget* parent)
    : QWidget(parent),
      m_which(which),
      m_pages(new QStackedWidget(this)),
      m_heading(new QLabel(this)),
      m_unit(new QComboBox(this)),
      m_maxK(new QSpinBox(this)),
      m_state(new QLabel(this)),
      m_plot(new Plot(this)),
      m_job([this](const Found& found) { receive(found); }, 0ms) {
  setObjectName(isHistogram() ? u"histogramPanel"_s : u"chartPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  if (isHistogram()) {
    setUpPlot(u"chartLoads"_s, tr("Loads of links"));
  } else {
    setUpPlot(u"chartTreeCount"_s, tr("Throughput against trees per root"));
  }
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
  constexpr double kHeadingPixels = 13;
  m_heading->setFont(uiFont(kHeadingPixels, QFont::DemiBold));
  constexpr int kSpacing = 16;
  auto* empty = new EmptyPage(
      isHistogram() ? tr("How evenly the links are used.") : tr("Throughput against the number of trees."),
      tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &ChartPanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(panelPage(controlRow({m_heading, m_unit, m_maxK}, m_state, kSpacing), m_plot, m_pages));
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);
  connect(m_maxK, &QSpinBox::valueChanged, this, [this] {
    std::erase_if(m_values, [this](const KValue& value) { return value.k > m_maxK->value(); });
    draw();
    follow();
  });
  connect(m_unit, &QComboBox::currentIndexChanged, this, &ChartPanel::draw);
  m_plot->setDraw([this] {
    if (!m_result) {
      return;
    }
    if (isHistogram()) {
      drawHistogram();
    } else if (m_result->forests() == nullptr) {
      drawSteps();
    } else {
      drawTreeCount();
    }
  });
}

ChartPanel::~ChartPanel() = default;

void ChartPanel::setUpPlot(const QString& name, const QString& title) {
  m_plot->setObjectName(name);
  m_plot->setAccessibleName(title);
  constexpr QSize kMin(220, 110);
  m_plot->setMinimumSize(kMin);
  auto* more = new QToolButton(m_plot->viewport());
  more->setObjectName(name + u"More"_s);
  more->setIcon(icon(u"more"_s));
  more->setToolTip(tr("Save or copy this chart"));
  more->setAccessibleName(tr("Save or copy: %1").arg(title));
  more->setPopupMode(QToolButton::InstantPopup);
  more->setAutoRaise(true);
  auto* menu = new QMenu(more);
  menu->addAction(tr("Save Picture…"), this, &ChartPanel::pictureWanted);
  menu->addAction(tr("Copy Numbers as CSV"), this, [this] { QGuiApplication::clipboard()->setText(csv()); });
  more->setMenu(menu);
  more->setStyleSheet(u"QToolButton::menu-indicator { image: none; }"_s);
  auto* over = new QVBoxLayout(m_plot->viewport());
  over->setContentsMargins({});
  over->addWidget(more, 0, Qt::AlignTop | Qt::AlignRight);
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
  const bool isWanted = !isHistogram() && m_result && m_result->forests() != nullptr && isVisible() &&
                        m_why.isEmpty() && next <= m_maxK->value();
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
  m_plot->redraw();
  follow();
}

void ChartPanel::draw() {
  const bool hasSteps = m_result && m_result->forests() == nullptr;
  m_maxK->setVisible(!hasSteps && !isHistogram());
  m_unit->setVisible(!hasSteps && !isHistogram());
  m_heading->setText(isHistogram() ? tr("Loads of links, each direction")
                     : hasSteps    ? tr("Time of steps")
                                   : tr("Throughput by trees per root"));
  m_plot->redraw();
}

void ChartPanel::drawTreeCount() {
  const Theme& theme = Theme::instance();
  const Bandwidth bound = m_result->forests()->bound;
  const bool isLoss = m_unit->currentIndex() == 1;
  constexpr double kHundred = 100;
  const auto shown = [&](const Bandwidth& algbw) {
    return isLoss ? kHundred * (Rational(1) - algbw / bound).toDouble() : toGBps(algbw);
  };
  QList<QPointF> points;
  for (const KValue& value : m_values) {
    points.append({static_cast<double>(value.k), shown(value.algbw)});
  }
  m_plot->setAxes({.title = tr("trees per root, k"),
                   .scale = PlotAxis::Scale::whole,
                   .range = PlotAxis::Range{0.5, static_cast<double>(m_maxK->value()) + 0.5},
                   .hasGrid = false},
                  {.title = isLoss ? tr("loss, %") : tr("GB/s"), .fromZero = isLoss});
  const auto tip = [this](std::size_t at) {
    const KValue& value = m_values[at];
    const Bandwidth& best = m_result->forests()->bound;
    return tr("k = %1: %2 GB/s, %3 of the bound, loses %4")
        .arg(value.k)
        .arg(exactly(value.algbw), percentOf(value.algbw, best), percentOf(best - value.algbw, best));
  };
  constexpr double kLine = 1.6;
  constexpr double kMarker = 8;
  m_plot->addLine(tr("with k trees per root"), points, {.color = theme.color(Token::accent), .width = kLine}, tip);
  m_plot->addLevel(tr("bound, %1 GB/s").arg(decimal(bound)), shown(bound),
                   {.color = theme.color(Token::text), .width = kLine, .dash = Qt::DashLine},
                   [bound](std::size_t) { return tr("Bound: %1 GB/s").arg(exactly(bound)); });
  m_plot->addPoints(
      {}, points,
      {.color = theme.color(Token::panel), .width = 1, .fill = theme.color(Token::accent), .marker = kMarker}, tip);
}

void ChartPanel::drawSteps() {
  const schedule::StepCost& cost = *m_result->cost;
  const double total = cost.timePerByte.perGBps().toDouble();
  constexpr double kHundred = 100;
  std::vector<double> shares;
  for (const auto& load : cost.stepLoads) {
    shares.push_back(kHundred * load.time.perGBps().toDouble() / total);
  }
  m_plot->setAxes({.title = m_result->stepSchedule()->isSynchronous ? tr("step") : tr("phase"),
                   .scale = PlotAxis::Scale::whole,
                   .range = PlotAxis::Range{0.5, static_cast<double>(shares.size()) + 0.5},
                   .hasGrid = false},
                  {.title = tr("% of the time"), .fromZero = true});
  m_plot->addBars({}, 0.5, 1, shares, {.width = 0, .fill = Theme::instance().color(Token::accent)},
                  [this, shares](std::size_t step) {
                    return tr("%1 %2: %3 % of the time")
                        .arg(m_result->stepSchedule()->isSynchronous ? tr("step") : tr("phase"))
                        .arg(step + 1)
                        .arg(shares[step], 0, 'f', 1);
                  });
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
  const std::vector<int> bins = histogram();
  constexpr double kHundred = 100;
  constexpr double kQuarter = 25;
  m_plot->setAxes(
      {.title = tr("load, % of bandwidth"), .range = PlotAxis::Range{0, kHundred, kQuarter}, .hasGrid = false},
      {.title = tr("links"), .fromZero = true});
  m_plot->addBars({}, 0, kHundred / kBins, {bins.begin(), bins.end()},
                  {.width = 0, .fill = Theme::instance().color(Token::switchLine)}, [this, bins](std::size_t bin) {
                    return tr("%1 of %2 are loaded %3 to %4 %")
                        .arg(bins[bin])
                        .arg(m_result->loads.size())
                        .arg(bin * 100 / kBins)
                        .arg((bin + 1) * 100 / kBins);
                  });
}

QString ChartPanel::csv() const {
  QString text;
  if (!m_result) {
    return text;
  }
  if (!isHistogram() && m_result->forests() == nullptr) {
    return stepsCsv();
  }
  if (!isHistogram()) {
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

Outcome ChartPanel::savePicture(const QString& path) const {
  return saveChartPicture(path, *m_plot);
}

}  // namespace coppice::designer
