// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/size_chart.hpp"

#include <QGraphicsLayout>
#include <QPen>
#include <QVBoxLayout>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedule/chart_style.hpp"
#include "designer/schedule/rough_bytes.hpp"
#include "designer/schedule/simulation_settings.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Simulates between the sizes at which the fastest changes.
Result<std::vector<workflow::Band>> bandsOf(const std::vector<ScheduleResultPtr>& among,
                                            const std::vector<std::vector<simulate::Row>>& rows,
                                            const Progress& progress) {
  return workflow::guarded<std::vector<workflow::Band>>([&]() -> Result<std::vector<workflow::Band>> {
    const auto loaded = std::make_shared<const workflow::LoadedFabric>(
        workflow::LoadedFabric{*among.front()->description, *among.front()->fabric, {}});
    std::vector<workflow::Contender> contenders;
    std::vector<std::size_t> indices;
    for (const ScheduleResultPtr& result : among) {
      auto playable =
          workflow::playableOf("sccl", loaded, result->schedule, SimulationSettings::instance().modelFor(*result),
                               simulate::Barriers::steps, progress);
      if (!playable) {
        return playable.error();
      }
      indices.push_back(contenders.size());
      contenders.push_back({.playable = *std::move(playable)});
    }
    auto compared = workflow::comparedAmong(contenders, indices, rows, {.sizes = comparedSizes()}, progress);
    if (!compared) {
      return compared.error();
    }
    return std::move(compared->bands);
  });
}

}  // namespace

SizeChart::SizeChart(const FrontSearch& search, QWidget* parent)
    : QWidget(parent),
      m_search(search),
      m_text(new QLabel(this)),
      m_chart(new QChart),
      m_view(new QChartView(m_chart, this)),
      m_job(
          [this](const Answer& answer) {
            m_predictions[answer.result.get()] = answer;
            draw();
            predictNext();
          },
          0ms),
      m_comparer(
          [this](const Bands& bands) {
            m_bands = bands;
            draw();
          },
          0ms) {
  setObjectName(u"sizeChart"_s);
  m_text->setObjectName(u"switchOvers"_s);
  m_text->setWordWrap(true);
  m_view->setAccessibleName(tr("Predicted time against size"));
  m_view->setRenderHint(QPainter::Antialiasing);
  m_view->setFrameShape(QFrame::NoFrame);
  m_chart->layout()->setContentsMargins(0, 0, 0, 0);
  m_chart->setBackgroundRoundness(0);
  constexpr int kLabelRight = 20;
  m_chart->setMargins({4, 0, kLabelRight, 0});
  m_chart->legend()->setAlignment(Qt::AlignTop);
  auto* layout = new QVBoxLayout(this);
  constexpr int kGap = 4;
  layout->setContentsMargins(kGap, kGap, kGap, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_text);
  layout->addWidget(m_view, 1);
  draw();
  connect(&Theme::instance(), &Theme::changed, this, &SizeChart::draw);
}

SizeChart::~SizeChart() = default;

const Prediction* SizeChart::predictionOf(std::size_t candidate) const {
  const auto found = m_predictions.find(m_search.candidates()[candidate].result.get());
  return found != m_predictions.end() ? found->second.prediction.get() : nullptr;
}

void SizeChart::refresh() {
  std::vector<std::size_t> front = m_search.front();
  std::erase_if(front, [this](std::size_t each) { return !m_search.candidates()[each].result; });
  if (m_search.candidates().empty()) {
    m_predictions.clear();
  }
  if (front != m_front || front.empty()) {
    m_front = std::move(front);
    draw();
  }
  predictNext();
}

bool SizeChart::isSettled() const {
  return results().empty() || m_bands.among == results();
}

std::vector<ScheduleResultPtr> SizeChart::results() const {
  std::vector<ScheduleResultPtr> results;
  for (const std::size_t each : m_front) {
    results.push_back(m_search.candidates()[each].result);
  }
  return results;
}

void SizeChart::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  predictNext();
}

void SizeChart::predictNext() {
  if (!isVisible() || m_job.isRunning()) {
    return;
  }
  const auto next =
      std::find_if(m_front.begin(), m_front.end(), [this](std::size_t each) { return predictionOf(each) == nullptr; });
  if (next == m_front.end()) {
    compareAll();
  } else {
    m_job.submit([result = m_search.candidates()[*next].result](std::stop_token stop) {
      Progress progress;
      progress.stop = std::move(stop);
      return Answer{result, predict(*result, progress)};
    });
  }
}

int SizeChart::lineCount() const {
  return static_cast<int>(m_chart->series().size());
}

void SizeChart::compareAll() {
  Bands asked{results(), {}, {}};
  if (asked.among.empty() || asked.among == m_bands.among) {
    return;
  }
  std::vector<std::vector<simulate::Row>> rows;
  for (const std::size_t each : m_front) {
    const Prediction& prediction = *predictionOf(each);
    rows.push_back(prediction.rows);
    if (prediction.rows.size() != comparedSizes().size()) {
      asked.problem = prediction.problem;
    }
  }
  if (!asked.problem.isEmpty()) {
    m_bands = asked;
    draw();
    return;
  }
  m_comparer.submit([asked, rows](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    Bands answer = asked;
    if (auto bands = bandsOf(asked.among, rows, progress)) {
      answer.bands = *std::move(bands);
    } else {
      answer.problem = sentence(bands.error());
    }
    return answer;
  });
}

QString SizeChart::switchOvers() const {
  if (m_front.empty() || m_bands.among != results()) {
    return {};
  }
  const std::vector<workflow::Band>& bands = m_bands.bands;
  QStringList parts;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const QString name = m_search.candidates()[m_front[bands[i].contender]].sizeText();
    const bool isLast = i + 1 == bands.size();
    parts << (i == 0 && isLast ? tr("%1 at all sizes").arg(name)
              : isLast         ? tr("%1 from %2").arg(name, roughBytes(static_cast<double>(bands[i].from)))
              : i == 0         ? tr("%1 below %2").arg(name, roughBytes(static_cast<double>(bands[i + 1].from)))
                               : tr("%1 from %2").arg(name, roughBytes(static_cast<double>(bands[i].from))));
  }
  return parts.join(u", "_s);
}

void SizeChart::draw() {
  clearChart(*m_chart);
  const Theme& theme = Theme::instance();
  styleChart(*m_chart, *m_view);
  QList<QLineSeries*> lines;
  double min = 0;
  double max = 0;
  for (std::size_t i = 0; i < m_front.size(); ++i) {
    const Prediction* prediction = predictionOf(m_front[i]);
    if (prediction == nullptr || prediction->rows.empty()) {
      continue;
    }
    constexpr double kLine = 1.8;
    auto* line = new QLineSeries;
    const auto index = static_cast<int>(i);
    line->setName(m_search.candidates()[m_front[i]].sizeText());
    line->setPen(QPen(category(index, theme.scheme()), kLine, categoryDash(index)));
    for (const simulate::Row& row : prediction->rows) {
      line->append(std::log2(static_cast<double>(row.size)), row.time.count());
      min = min == 0 ? row.time.count() : std::min(min, row.time.count());
      max = std::max(max, row.time.count());
    }
    lines << line;
  }
  const QString bands = switchOvers();
  m_text->setText(m_front.empty()   ? tr("The schedules that are found appear here with their predicted times.")
                  : !isSettled()    ? tr("Simulating…")
                  : bands.isEmpty() ? m_bands.problem
                                    : tr("Fastest: %1.").arg(bands));
  m_chart->setPlotAreaBackgroundVisible(!lines.isEmpty());
  if (lines.isEmpty()) {
    return;
  }
  const auto& sizes = comparedSizes();
  const auto place = [](std::int64_t size) { return std::log2(static_cast<double>(size)); };
  auto* x = new QCategoryAxis;
  x->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x->setStartValue(place(sizes.front()));
  x->setRange(place(sizes.front()), place(sizes.back()));
  constexpr std::size_t kEvery = 4;
  for (std::size_t i = 0; i < sizes.size(); i += kEvery) {
    x->append(bytesText(sizes[i]), place(sizes[i]));
  }
  auto* y = new QLogValueAxis;
  constexpr double kBase = 10;
  constexpr double kAbove = 1.01;
  y->setBase(kBase);
  y->setLabelFormat(u"%g"_s);
  y->setTitleText(tr("Time, µs"));
  y->setRange(std::pow(kBase, std::floor(std::log10(min))), std::pow(kBase, std::ceil(std::log10(max * kAbove))));
  m_chart->addAxis(x, Qt::AlignBottom);
  m_chart->addAxis(y, Qt::AlignLeft);
  styleAxis(*x);
  styleAxis(*y);
  for (QLineSeries* line : lines) {
    m_chart->addSeries(line);
    line->attachAxis(x);
    line->attachAxis(y);
  }
}

}  // namespace coppice::designer
