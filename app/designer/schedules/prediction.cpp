// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/prediction.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "designer/document/error_text.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "workflow/guarded.hpp"

namespace coppice::designer {

const std::vector<std::int64_t>& comparedSizes() {
  constexpr std::int64_t kFirst = std::int64_t{1} << 10;
  constexpr std::int64_t kLast = std::int64_t{1} << 30;
  static const std::vector<std::int64_t> sizes = simulate::sizesOf(kFirst, kLast, 2);
  return sizes;
}

Result<std::unique_ptr<simulate::Subject>> subjectOf(const ScheduleResult& result) {
  const simulate::Model model = SimulationSettings::instance().modelFor(result);
  if (result.program) {
    return simulate::subjectOf(*result.fabric, *result.program, model);
  }
  return std::visit([&](const auto& schedule) { return simulate::subjectOf(*result.fabric, schedule, model); },
                    result.schedule);
}

const simulate::Row* Prediction::at(std::int64_t size) const {
  const auto found = std::lower_bound(rows.begin(), rows.end(), size,
                                      [](const simulate::Row& row, std::int64_t wanted) { return row.size < wanted; });
  return found != rows.end() && found->size == size ? &*found : nullptr;
}

PredictionPtr predict(const ScheduleResult& result, const Progress& progress) {
  auto prediction = std::make_shared<Prediction>();
  const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
    auto subject = subjectOf(result);
    if (!subject) {
      return subject.error();
    }
    for (const std::int64_t size : comparedSizes()) {
      const auto details = (*subject)->simulate(size, {}, progress);
      if (!details) {
        return details.error();
      }
      prediction->rows.push_back(details->row);
    }
    return Done{};
  });
  if (!done) {
    prediction->problem = sentence(done.error());
  }
  return prediction;
}

}  // namespace coppice::designer
