// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/size_chart.hpp"

#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/simulation_settings.hpp"
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
      m_plot(new Plot(this)),
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
  m_plot->setAccessibleName(tr("Predicted time against size"));
  auto* layout = new QVBoxLayout(this);
  constexpr int kGap = 4;
  layout->setContentsMargins(kGap, kGap, kGap, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_text);
  layout->addWidget(m_plot, 1);
  m_plot->setDraw([this] { drawLines(); });
  draw();
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
      return Answer{result, predict(result, progress)};
    });
  }
}

int SizeChart::lineCount() const {
  return static_cast<int>(m_plot->itemCount());
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
  const QString bands = switchOvers();
  m_text->setText(m_front.empty()   ? tr("The schedules that are found appear here with their predicted times.")
                  : !isSettled()    ? tr("Simulating…")
                  : bands.isEmpty() ? m_bands.problem
                                    : tr("Fastest: %1.").arg(bands));
  m_plot->redraw();
}

void SizeChart::drawLines() {
  m_plot->setAxes({.scale = PlotAxis::Scale::sizes}, {.title = tr("Time, µs"), .scale = PlotAxis::Scale::logarithmic});
  for (std::size_t i = 0; i < m_front.size(); ++i) {
    const Prediction* prediction = predictionOf(m_front[i]);
    if (prediction == nullptr || prediction->rows.empty()) {
      continue;
    }
    QList<QPointF> times;
    for (const simulate::Row& row : prediction->rows) {
      times.append({static_cast<double>(row.size), row.time.count()});
    }
    const auto index = static_cast<int>(i);
    m_plot->addLine(m_search.candidates()[m_front[i]].sizeText(), times,
                    {.color = category(index, Theme::instance().scheme()), .dash = categoryDash(index)});
  }
}

}  // namespace coppice::designer
