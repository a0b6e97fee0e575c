// SPDX-License-Identifier: Apache-2.0
#include "lowering/sums.hpp"

#include <algorithm>
#include <cstdint>

namespace coppice::lowering {

Sums planSums(const Work& work) {
  const auto gpus = static_cast<std::size_t>(work.gpuCount);
  Sums sums;
  sums.lastChild.assign(work.parts.size() * gpus, -1);
  if (!work.hasPhase(Phase::reduce)) {
    return sums;
  }
  std::vector<std::int64_t> load(gpus * gpus, 0);  // by receiver and sender
  for (std::size_t part = 0; part < work.parts.size(); ++part) {
    const TreeShape& tree = work.tree(static_cast<int>(part), Phase::reduce);
    for (std::size_t v = 0; v < gpus; ++v) {
      const std::span<const int> children = tree.children[static_cast<int>(v)];
      int best = -1;
      for (const int c : children) {
        const auto loadOf = [&](int child) { return load[v * gpus + static_cast<std::size_t>(child)]; };
        const int height = tree.height[c];
        const int max = best < 0 ? -1 : tree.height[best];
        if (height > max || (height == max && loadOf(c) < loadOf(best))) {
          best = c;
        }
      }
      if (best >= 0) {
        sums.lastChild[part * gpus + v] = best;
        load[v * gpus + static_cast<std::size_t>(best)] +=
            static_cast<std::int64_t>(children.size()) * work.parts[part].count;
      }
    }
  }
  return sums;
}

int stepsOfArrival(int position, int arrivals) {
  // What is there to be added once this one has come: every kMaxAddends-th leaves one sum behind.
  const int there = position < kMaxAddends ? position + 1 : (position - 1) % (kMaxAddends - 1) + 2;
  if (position + 1 == arrivals) {
    return there == 1 ? 2 : 2 * there - 1;
  }
  return there == kMaxAddends ? 2 * kMaxAddends - 2 : 1;
}

}  // namespace coppice::lowering
