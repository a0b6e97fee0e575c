// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_reading.hpp"

#include <algorithm>
#include <limits>
#include <utility>

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

std::optional<program::StepPlace> ProgramReading::alongWaits(const program::StepPlace& place, int direction,
                                                             const verify::ProgramReplay* replay) const {
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  const auto reasons = direction < 0 ? links.waitsFor(place) : links.releases(place);
  const auto doneAt = [replay](const program::StepPlace& step) {
    const auto position = replay != nullptr ? replay->positionAfter(step) : std::nullopt;
    return position ? std::size_t{replay->events()[*position - 1].round} : kNever;
  };
  // Its own threadblock says least, so where two are equal the other reason is followed.
  const auto keyOf = [&](const program::StepLink& link) {
    const std::size_t at = doneAt(link.place);
    return std::pair(direction < 0 ? at : kNever - at, link.reason != program::WaitReason::order);
  };
  const auto found = std::max_element(reasons.begin(), reasons.end(),
                                      [&](const auto& a, const auto& b) { return keyOf(a) < keyOf(b); });
  return found != reasons.end() ? std::optional(found->place) : std::nullopt;
}

}  // namespace coppice::designer
