// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/training_search.hpp"

#include <QCoreApplication>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "fabric/likely_gpu.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct TrainingTexts {
  Q_DECLARE_TR_FUNCTIONS(Training)
};

Outcome searchGraphFile(TrainingAnswer& answer, const workflow::Values& values, const Progress& progress) {
  auto fabric = fabric::Fabric::build(*answer.snapshot.facts);
  if (!fabric) {
    return fabric.error();
  }
  auto request = workflow::readTrainingGraph(values, fabric::namesOf(*fabric));
  if (!request) {
    return request.error();
  }
  auto meshes = workflow::searchGraph(*fabric, *request, {}, progress);
  if (!meshes) {
    return meshes.error();
  }
  if (!meshes->front().best) {
    return Error{ErrorCode::infeasible, workflow::noPlanWords(*request), {}};
  }
  answer.fabric = *std::move(fabric);
  answer.graph = *std::move(request);
  answer.meshes = *std::move(meshes);
  return Done{};
}

Outcome search(TrainingAnswer& answer, const workflow::Values& values, const Progress& progress) {
  if (workflow::asksForGraph(values)) {
    return searchGraphFile(answer, values, progress);
  }
  auto fabric = fabric::Fabric::build(*answer.snapshot.facts);
  if (!fabric) {
    return fabric.error();
  }
  auto request = workflow::readTraining(values, fabric::namesOf(*fabric));
  if (!request) {
    return request.error();
  }
  auto choice = workflow::chooseTraining(*fabric, request->demand, request->limits, progress);
  if (!choice) {
    return choice.error();
  }
  answer.fabric = *std::move(fabric);
  answer.request = *std::move(request);
  answer.choice = *std::move(choice);
  if (!answer.hasPlans()) {
    return Error{ErrorCode::infeasible, workflow::noPlanWords(*answer.request, answer.choice), {}};
  }
  return Done{};
}

}  // namespace

TrainingAnswerPtr searchTraining(const Snapshot& snapshot, const workflow::Values& values, const Progress& progress) {
  return answered<TrainingAnswer>([&](TrainingAnswer& answer) {
    answer.snapshot = snapshot;
    return search(answer, values, progress);
  });
}

workflow::StepUnit unitOf(const TrainingAnswer& answer) {
  return workflow::stepUnit(answer.hasPlans() ? answer.choice.plans.front().overlapped().toDouble() : 0);
}

QString inUnit(const workflow::StepUnit& unit, const Rational& nanoseconds) {
  return QString::fromStdString(unit.text(nanoseconds));
}

QString stepTime(const Rational& nanoseconds) {
  return QString::fromStdString(workflow::stepTime(nanoseconds));
}

QString microseconds(const Rational& nanoseconds) {
  constexpr int kPlaces = 3;
  return decimal(nanoseconds / Rational(1000), kPlaces);
}

QString megabytes(const Rational& bytes) {
  constexpr int kPlaces = 3;
  return decimal(bytes / Rational(1'000'000), kPlaces);
}

PlanText textOf(const TrainingAnswer& answer, const training::StepPlan& plan) {
  const int gpus = answer.fabric->gpuCount();
  const workflow::StepFigures figures = workflow::figuresOf(*answer.request, gpus, plan.overlapped());
  PlanText text;
  text.headline =
      TrainingTexts::tr("%1 per step on %2 (%3): at most %4 tokens/s, %5 per GPU, %6 of the peak (MFU)")
          .arg(stepTime(plan.overlapped()), counted(gpus, TrainingTexts::tr("GPU"), TrainingTexts::tr("GPUs")),
               QString::fromLatin1(answer.request->device.title), grouped(figures.tokensPerSecond),
               grouped(figures.tokensPerSecond / Rational(gpus)), percentOf(figures.utilization, Rational(1)));
  if (figures.days) {
    text.headline += TrainingTexts::tr(". The training takes at least %1 days").arg(decimal(*figures.days));
  }
  for (const workflow::AxisUse& use : workflow::axisUses(answer.request->demand, plan)) {
    text.axes << QString::fromStdString(use.word) + u' ' + QString::number(use.size) + u": "_s +
                     QString::fromStdString(use.text);
  }
  const bool isCommunication = workflow::limitsOf(answer.request->demand, answer.choice, plan).isCommunication;
  text.limitedBy =
      isCommunication ? TrainingTexts::tr("Limited by communication")
      : plan.bubble.isZero()
          ? TrainingTexts::tr("Limited by computation")
          : TrainingTexts::tr("Limited by computation, with %1 of the pipeline's bubble").arg(stepTime(plan.bubble));
  return text;
}

}  // namespace coppice::designer
