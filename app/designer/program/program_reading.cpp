// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_reading.hpp"

#include <algorithm>

namespace coppice::designer {

const lowering::StepOrigin* ProgramReading::originOf(const program::StepPlace& place) const {
  return origins.empty() || !program::exists(program(), place) ? nullptr
                                                               : &origins[place.rank][place.threadBlock][place.step];
}

std::vector<TreeRef> ProgramReading::treesOf(const program::StepPlace& place) const {
  std::vector<TreeRef> trees;
  const lowering::StepOrigin* origin = originOf(place);
  if (origin != nullptr && origin->reduceTree >= 0) {
    trees.push_back({0, origin->reduceTree});
  }
  if (origin != nullptr && origin->broadcastTree >= 0) {
    trees.push_back({1, origin->broadcastTree});
  }
  return trees;
}

bool ProgramReading::serves(const program::StepPlace& place, const std::set<TreeRef>& trees) const {
  const lowering::StepOrigin* origin = trees.empty() ? nullptr : originOf(place);
  return origin != nullptr && ((origin->reduceTree >= 0 && trees.contains({0, origin->reduceTree})) ||
                               (origin->broadcastTree >= 0 && trees.contains({1, origin->broadcastTree})));
}

std::vector<program::StepPlace> ProgramReading::stepsOf(const std::set<TreeRef>& trees) const {
  std::vector<program::StepPlace> steps;
  if (trees.empty() || origins.empty()) {
    return steps;
  }
  const auto& ranks = program().ranks;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const auto& blocks = ranks[rank].threadBlocks;
    for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
      const int count = static_cast<int>(blocks[block].steps.size());
      for (int step = 0; step < count; ++step) {
        if (const program::StepPlace place{rank, block, step}; serves(place, trees)) {
          steps.push_back(place);
        }
      }
    }
  }
  const auto& replay = study().inPlace ? study().inPlace : study().outOfPlace;
  if (replay) {
    const auto when = [&](const program::StepPlace& place) {
      const auto position = replay->positionAfter(place);
      return position ? *position : replay->events().size() + 1;
    };
    std::stable_sort(steps.begin(), steps.end(), [&](const auto& a, const auto& b) { return when(a) < when(b); });
  }
  return steps;
}

}  // namespace coppice::designer
