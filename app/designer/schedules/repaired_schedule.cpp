// SPDX-License-Identifier: GPL-3.0-or-later
#include <utility>

#include "designer/schedules/schedule_result.hpp"
#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"

namespace coppice::designer {

using workflow::guarded;

Result<ScheduleResultPtr> repairSchedule(const fabric::Description& facts, const ScheduleResult& base,
                                         const std::vector<std::string>& failed, const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    workflow::Clock clock;
    const schedule::Schedule* const old = base.forests();
    if (old == nullptr) {
      return Error{ErrorCode::badUsage, "only schedules of trees can be repaired", "generate trees first"};
    }
    ScheduleOptions options = base.options;
    options.failed.insert(options.failed.end(), failed.begin(), failed.end());
    auto part = chosenPart(facts, options.part());
    if (!part) {
      return part.error();
    }
    auto fabric = fabric::Fabric::build(*part);
    if (!fabric) {
      return fabric.error();
    }
    auto repaired = forestcoll::repaired(*base.fabric, *old, *fabric, {}, progress);
    if (!repaired) {
      return repaired.error();
    }
    auto made = examineSchedule(*std::move(part), *std::move(fabric), std::move(repaired->schedule), options, progress);
    if (!made) {
      return made.error();
    }
    auto result = std::const_pointer_cast<ScheduleResult>(*std::move(made));
    result->origin = base.origin;
    result->repair = repaired->count;
    result->seconds = clock.lap();
    return ScheduleResultPtr(std::move(result));
  });
}

}  // namespace coppice::designer
