// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/plan_details.hpp"

#include <QSignalBlocker>
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/collective.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/training/axis_overlay.hpp"
#include "designer/workspace/editor_context.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr double kBytesOfGb = 1e9;

QString collectiveOf(const workflow::CommunicationPart& part) {
  const auto collective = parseCollective(part.collective);
  return collective ? collectiveName(*collective) : QString::fromStdString(part.collective);
}

}  // namespace

PlanDetails::PlanDetails(QWidget* parent)
    : QTabWidget(parent),
      m_parts(new QTableWidget(this)),
      m_gains(new QTableWidget(this)),
      m_step(new StepView(this)),
      m_chart(new PlanChart(u"trainingChart"_s, {tr("memory of a GPU, GB"), {}, kBytesOfGb}, this)),
      m_gainJob([this](const Gains& gains) { fillGains(gains); }, 0ms) {
  setObjectName(u"trainingDetails"_s);
  setDocumentMode(true);
  setUpRowTable(*m_parts, u"trainingParts"_s, tr("What a step moves"));
  setHeads(*m_parts, {tr("Axis"), tr("Collective"), tr("Time"), tr("Share"), tr("GB/s"), tr("Limited by")}, 5);
  setUpRowTable(*m_gains, u"trainingGains"_s, tr("What a change gains"));
  setHeads(*m_gains, {tr("Change"), tr("Step shorter by"), tr("No overlap")}, 0);
  addTab(m_parts, tr("Communication"));
  addTab(m_gains, tr("Gains"));
  addTab(m_step, tr("Timeline"));
  addTab(m_chart, tr("Time and Memory"));
  connect(m_parts, &QTableWidget::itemSelectionChanged, this, &PlanDetails::partChosen);
  connect(m_chart, &PlanChart::planClicked, this, &PlanDetails::planClicked);
  connect(this, &QTabWidget::currentChanged, this, [this] {
    if (currentWidget() == m_gains) {
      askGains();
    }
  });
}

const training::StepPlan* PlanDetails::plan() const {
  return m_answer && m_plan >= 0 && m_plan < static_cast<int>(m_answer->choice.plans.size())
             ? &m_answer->choice.plans[static_cast<std::size_t>(m_plan)]
             : nullptr;
}

void PlanDetails::show(const TrainingAnswerPtr& answer, int plan) {
  m_answer = answer;
  m_plan = plan;
  m_gainJob.cancel();
  m_gains->setRowCount(0);
  m_limits = {};
  if (const training::StepPlan* shown = this->plan()) {
    m_limits = workflow::limitsOf(m_answer->request->demand, m_answer->choice, *shown);
  }
  fillParts();
  m_step->show(m_answer, m_plan);
  QList<PlanChart::Point> points;
  for (std::size_t i = 0; m_answer && i < m_answer->choice.plans.size(); ++i) {
    const training::StepPlan& each = m_answer->choice.plans[i];
    points.append({each.cost.memory, each.overlapped(),
                   QString::fromStdString(each.priced.layout.text()) + u'\n' + textOf(*m_answer, each).headline});
  }
  const workflow::StepUnit unit = m_answer ? unitOf(*m_answer) : workflow::stepUnit(0);
  m_chart->setStepUnit(tr("step, %1").arg(QLatin1StringView(unit.name)), unit.nanoseconds);
  m_chart->show(std::move(points), m_plan);
  if (currentWidget() == m_gains) {
    askGains();
  }
}

void PlanDetails::fillParts() {
  const bool hadChoice = !m_parts->selectedItems().isEmpty();
  std::vector<Rational> times;
  for (const workflow::CommunicationPart& part : m_limits.parts) {
    times.push_back(part.time);
  }
  const workflow::StepUnit unit = workflow::stepUnit(times);
  constexpr int kTime = 2;
  m_parts->horizontalHeaderItem(kTime)->setText(tr("Time, %1").arg(QLatin1StringView(unit.name)));
  {
    const QSignalBlocker quiet(m_parts);
    m_parts->setRowCount(0);
    m_parts->setRowCount(static_cast<int>(m_limits.parts.size()));
    for (std::size_t i = 0; i < m_limits.parts.size(); ++i) {
      const workflow::CommunicationPart& part = m_limits.parts[i];
      const int row = static_cast<int>(i);
      const QString cut = QString::fromStdString(workflow::limitWords(*m_answer->fabric, part));
      int column = 0;
      setCell(*m_parts, row, column++, QString::fromStdString(part.word), false);
      setCell(*m_parts, row, column++, collectiveOf(part), false);
      setCell(*m_parts, row, column++, inUnit(unit, part.time), true);
      setCell(*m_parts, row, column++, percentOf(part.time, plan()->cost.communication), true);
      setCell(*m_parts, row, column++, decimal(part.rate), true, exactly(part.rate));
      setCell(*m_parts, row, column++, cut, false);
    }
  }
  if (hadChoice) {
    Q_EMIT partChosen();
  }
}

void PlanDetails::askGains() {
  const training::StepPlan* shown = plan();
  if (shown == nullptr || m_gains->rowCount() > 0 || m_gainJob.isRunning()) {
    return;
  }
  m_gains->setRowCount(1);
  setCell(*m_gains, 0, 0, tr("Computing…"), false);
  m_gainJob.submit([answer = m_answer, limits = m_limits, plan = *shown](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::make_shared<const Result<std::vector<workflow::Gain>>>(
        workflow::gainsOf(answer->request->demand, limits, plan, progress));
  });
}

void PlanDetails::fillGains(const Gains& gains) {
  const training::StepPlan* shown = plan();
  if (shown == nullptr) {
    return;
  }
  if (!*gains) {
    m_gains->setRowCount(1);
    setCell(*m_gains, 0, 0, sentence(gains->error()), false);
    return;
  }
  m_gains->setRowCount(static_cast<int>((*gains)->size()));
  for (std::size_t i = 0; i < (*gains)->size(); ++i) {
    const workflow::Gain& gain = (**gains)[i];
    const int row = static_cast<int>(i);
    QString what = QString::fromStdString(workflow::gainWords(*m_answer->fabric, gain));
    what[0] = what[0].toUpper();
    setCell(*m_gains, row, 0, what, false);
    setCell(*m_gains, row, 1, stepTime(shown->overlapped() - gain.overlapped), true);
    setCell(*m_gains, row, 2, stepTime(shown->inSequence() - gain.inSequence), true);
  }
}

std::vector<fabric::Rank> PlanDetails::groupOf(const std::string& word) const {
  const training::Layout& layout = plan()->priced.layout;
  const auto axis =
      static_cast<int>(std::ranges::find(training::kParallelWords, word) - training::kParallelWords.begin());
  std::vector<fabric::Rank> group;
  for (std::int64_t i = 0; i < layout.sizes[static_cast<std::size_t>(axis)]; ++i) {
    group.push_back(static_cast<fabric::Rank>(i * layout.stride(axis)));
  }
  return group;
}

Overlay PlanDetails::marksOf(const EditorContext& context) const {
  const int row = m_parts->selectedItems().isEmpty() ? -1 : m_parts->currentRow();
  if (plan() == nullptr || row < 0 || row >= static_cast<int>(m_limits.parts.size())) {
    return {};
  }
  const workflow::CommunicationPart& part = m_limits.parts[static_cast<std::size_t>(row)];
  return axisOverlay(context, *m_answer, QString::fromStdString(part.word), groupOf(part.word), part.cut);
}

}  // namespace coppice::designer
