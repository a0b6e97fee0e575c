// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "program/program.hpp"
#include "program/run_protocol.hpp"
#include "verify/step_links.hpp"

namespace coppice::test {

/// A run of the program in which every step begins when all that it waits for has ended, and takes the given time.
/// @param nanoseconds time of a step @pre the program has no deadlock
inline std::vector<program::TraceEvent> recordedEvents(
    const program::Program& program, const std::function<std::int64_t(const program::StepPlace&)>& nanoseconds) {
  const verify::StepLinks links(program);
  std::map<program::StepPlace, std::int64_t> ends;
  std::vector<program::TraceEvent> events;
  for (bool moves = true; moves;) {
    moves = false;
    for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
      const auto& blocks = program.ranks[rank].threadBlocks;
      for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
        for (int step = 0; step < static_cast<int>(blocks[block].steps.size()); ++step) {
          const program::StepPlace place{rank, block, step};
          if (ends.contains(place)) {
            continue;
          }
          constexpr std::int64_t kWakeUp = 5'000;
          std::int64_t begin = kWakeUp;
          bool isReady = true;
          for (const program::StepLink& link : links.waitsFor(place)) {
            const auto before = ends.find(link.place);
            isReady = isReady && before != ends.end();
            begin = std::max(begin, before != ends.end() ? before->second : 0);
          }
          if (!isReady) {
            break;
          }
          ends[place] = begin + nanoseconds(place);
          events.push_back({rank, block, step, 0, begin, ends[place]});
          moves = true;
        }
      }
    }
  }
  return events;
}

}  // namespace coppice::test
