// SPDX-License-Identifier: Apache-2.0
#include "lowering/scratch.hpp"

#include <algorithm>
#include <utility>

namespace coppice::lowering {

Scratch::Run Scratch::take(int count, int block) {
  std::vector<Run>& free = m_free[count];
  if (free.empty()) {
    m_size += count;
    return {m_size - count, {}};
  }
  const auto isOwn = [&](const Run& run) {
    return std::all_of(run.after.begin(), run.after.end(), [&](StepPlace place) { return place.block == block; });
  };
  // Otherwise the one that was given back first.
  auto best = std::find_if(free.begin(), free.end(), isOwn);
  best = best == free.end() ? free.begin() : best;
  Run run = std::move(*best);
  free.erase(best);
  return run;
}

void Scratch::giveBack(int offset, int count, std::vector<StepPlace> uses) {
  m_free[count].push_back({offset, std::move(uses)});
}

}  // namespace coppice::lowering
