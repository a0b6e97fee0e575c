// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/plan_chart.hpp"

#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QPointF valueOf(const training::StepPlan& plan) {
  constexpr double kMilli = 1e6;
  constexpr double kGiga = 1e9;
  return {plan.cost.memory.toDouble() / kGiga, plan.overlapped().toDouble() / kMilli};
}

}  // namespace

PlanChart::PlanChart(QWidget* parent) : Plot(parent) {
  setObjectName(u"trainingChart"_s);
  setAccessibleName(tr("Time of a step against memory of a GPU"));
  // The table beside it has the same plans for the keyboard.
  setFocusPolicy(Qt::NoFocus);
  viewport()->setFocusPolicy(Qt::NoFocus);
  setDraw([this] { draw(); });
  connect(this, &Plot::pressed, this, [this](const PlotPlace& place) {
    if (place.hit && place.hit->item == m_all) {
      Q_EMIT planClicked(static_cast<int>(place.hit->point));
    }
  });
}

void PlanChart::show(const TrainingAnswerPtr& answer, int chosen) {
  m_answer = answer;
  m_chosen = chosen;
  redraw();
}

void PlanChart::draw() {
  setHint(tr("Time and memory of the plans will be drawn here"));
  if (!m_answer || !m_answer->hasPlans()) {
    return;
  }
  const auto& plans = m_answer->choice.plans;
  setAxes({.title = tr("memory of a GPU, GB")}, {.title = tr("step, ms")});
  const Theme& theme = Theme::instance();
  const QColor accent = theme.color(Token::accent);
  constexpr double kSmall = 8;
  constexpr double kRing = 18;
  if (m_chosen >= 0 && m_chosen < static_cast<int>(plans.size())) {
    addPoints(
        tr("Chosen"), {valueOf(plans[static_cast<std::size_t>(m_chosen)])},
        {.color = accent, .width = 1, .fill = theme.color(Token::accentSoft), .marker = kRing, .isTarget = false});
  }
  QList<QPointF> points;
  for (const training::StepPlan& plan : plans) {
    points << valueOf(plan);
  }
  m_all = itemCount();
  addPoints({}, points, {.color = accent, .width = 2, .fill = theme.color(Token::canvas), .marker = kSmall},
            [answer = m_answer](std::size_t point) {
              const training::StepPlan& plan = answer->choice.plans[point];
              return QString::fromStdString(plan.priced.layout.text()) + u'\n' + textOf(*answer, plan).headline;
            });
}

}  // namespace coppice::designer
