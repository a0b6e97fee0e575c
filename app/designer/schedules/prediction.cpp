// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/prediction.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <string>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "workflow/guarded.hpp"

namespace coppice::designer {
namespace {

struct PredictionTexts {
  Q_DECLARE_TR_FUNCTIONS(Prediction)
};

}  // namespace

const std::vector<std::int64_t>& comparedSizes() {
  constexpr std::int64_t kFirst = std::int64_t{1} << 10;
  constexpr std::int64_t kLast = std::int64_t{1} << 30;
  static const std::vector<std::int64_t> sizes = simulate::sizesOf(kFirst, kLast, 2);
  return sizes;
}

Result<std::unique_ptr<simulate::Subject>> subjectOf(const ScheduleResult& result, const Progress& progress,
                                                     std::int64_t maxMessages) {
  const simulate::Model model = SimulationSettings::instance().modelFor(result);
  if (result.program) {
    return simulate::subjectOf(*result.fabric, *result.program, model);
  }
  if (const schedule::Schedule* forests = result.forests()) {
    return simulate::subjectOf(*result.fabric, *forests, model, progress, maxMessages);
  }
  const schedule::StepSchedule& steps = *result.stepSchedule();
  if (const auto transfers = static_cast<std::int64_t>(steps.transfers.size()); transfers > maxMessages) {
    return Error{ErrorCode::limit, "the schedule has " + std::to_string(transfers) + " transfers; at most " +
                                       std::to_string(maxMessages) + " are simulated for a comparison"};
  }
  return simulate::subjectOf(*result.fabric, steps, model, simulate::Barriers::steps, progress);
}

const simulate::Row* Prediction::at(std::int64_t size) const {
  const auto found = std::lower_bound(rows.begin(), rows.end(), size,
                                      [](const simulate::Row& row, std::int64_t wanted) { return row.size < wanted; });
  return found != rows.end() && found->size == size ? &*found : nullptr;
}

bool Prediction::isComplete() const {
  return !problem.isEmpty() || rows.size() == comparedSizes().size();
}

QString sampleText(const ScheduleResult& result, std::int64_t maxMessages) {
  const schedule::Schedule* forests = result.program ? nullptr : result.forests();
  const simulate::Sample sample =
      forests != nullptr ? simulate::sampleOf(*result.fabric, *forests, maxMessages) : simulate::Sample{};
  return sample.isPart() ? PredictionTexts::tr(
                               "simulated with the trees of %1 of %2 GPUs, which stand for all")
                               .arg(sample.roots)
                               .arg(sample.of)
                         : QString();
}

PredictionPtr Predictor::at(std::int64_t size, const PredictionPtr& before, const Progress& progress) {
  auto prediction = before ? std::make_shared<Prediction>(*before) : std::make_shared<Prediction>();
  const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
    if (!m_subject) {
      auto subject = subjectOf(*m_result, progress, kMaxComparedMessages);
      if (!subject) {
        return subject.error();
      }
      m_subject = *std::move(subject);
    }
    const auto details = m_subject->simulate(size, {}, progress);
    if (!details) {
      return details.error();
    }
    const auto place =
        std::lower_bound(prediction->rows.begin(), prediction->rows.end(), size,
                         [](const simulate::Row& row, std::int64_t wanted) { return row.size < wanted; });
    prediction->rows.insert(place, details->row);
    return Done{};
  });
  if (!done && done.error().code != ErrorCode::cancelled) {
    prediction->problem = sentence(done.error());
  }
  prediction->sample = sampleText(*m_result, kMaxComparedMessages);
  return prediction;
}

PredictionPtr predict(const ScheduleResultPtr& result, const Progress& progress) {
  Predictor predictor(result);
  PredictionPtr prediction = std::make_shared<const Prediction>();
  for (const std::int64_t size : comparedSizes()) {
    if (!prediction->problem.isEmpty() || progress.stop.stop_requested()) {
      break;
    }
    prediction = predictor.at(size, prediction, progress);
  }
  return prediction;
}

}  // namespace coppice::designer
