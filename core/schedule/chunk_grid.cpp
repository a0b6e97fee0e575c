// SPDX-License-Identifier: Apache-2.0
#include "schedule/chunk_grid.hpp"

#include <numeric>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "schedule/step_cost.hpp"

namespace coppice::schedule {

std::int64_t exactGrid(const StepSchedule& schedule) {
  std::int64_t unit = schedule.denominator;
  for (const std::span<const std::int64_t> ends : {schedule.transfers.begins(), schedule.transfers.ends()}) {
    for (std::size_t i = 0; i < ends.size() && unit > 1; ++i) {
      unit = std::gcd(unit, ends[i]);
    }
  }
  return schedule.denominator / unit;
}

Result<StepSchedule> onGrid(const fabric::Fabric& fabric, const StepSchedule& schedule, std::int64_t chunks,
                            const Progress& progress) {
  if (chunks < 1) {
    return Error{ErrorCode::badUsage, "A shard has at least one chunk, not " + std::to_string(chunks),
                 "give 1 or more chunks"};
  }
  const auto border = [&](std::int64_t end) {
    return narrow64((Int128{2} * end * chunks + schedule.denominator) / (Int128{2} * schedule.denominator));
  };
  StepSchedule rounded = schedule;
  rounded.denominator = chunks;
  rounded.transfers = {};
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    Transfer transfer = schedule.transfers[i];
    transfer.begin = border(transfer.begin);
    transfer.end = border(transfer.end);
    if (transfer.begin < transfer.end) {
      rounded.transfers.add(transfer);
    }
  }
  const auto cost = stepCost(fabric, rounded, progress);
  if (!cost) {
    return cost.error();
  }
  rounded.algbw = cost->algbw;
  return rounded;
}

}  // namespace coppice::schedule
