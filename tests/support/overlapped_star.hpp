// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/sample_schedules.hpp"

namespace coppice::samples {

/// By root: multiplicities of its trees.
using Cuts = std::vector<std::vector<std::int64_t>>;
inline const Cuts kOneEach{{1}, {1}, {1}, {1}};

/// An allreduce of four GPUs round a switch (node 4), 100 GB/s each; both halves run at once. The switch sums and
/// copies, so that each root takes its sums from it and sends once; a plain one has chains. Roots may have unequal
/// shares, and the halves may cut a share differently.
inline Sample overlappedStar(const Cuts& in, const Cuts& out, const Bandwidth& algbw, bool ownCopies = false,
                             bool isCapable = true) {
  constexpr int kGpus = 4;
  fabric::Description description =
      describeFabric("square", {"g0", "g1", "g2", "g3"}, {"sw"},
                     {{"g0", "sw", "100"}, {"g1", "sw", "100"}, {"g2", "sw", "100"}, {"g3", "sw", "100"}}, isCapable);
  Sample sample = finish(std::move(description), Collective::allreduce, algbw, {});
  std::vector<std::int64_t> treesOfRoot;
  for (const std::vector<std::int64_t>& trees : out) {
    treesOfRoot.push_back(std::accumulate(trees.begin(), trees.end(), std::int64_t{0}));
  }
  const std::int64_t count = std::accumulate(treesOfRoot.begin(), treesOfRoot.end(), std::int64_t{0});
  const auto forestOf = [&](const Cuts& cuts) {
    schedule::Forest forest = emptyForest(kGpus, treesOfRoot, Rational(count) / algbw.gigabytesPerSecond());
    for (int root = 0; root < kGpus; ++root) {
      for (const std::int64_t multiplicity : cuts[root]) {
        std::vector<Hop> hops;
        for (int hop = 1; hop < kGpus; ++hop) {
          const int child = (root + hop) % kGpus;
          const int parent = isCapable ? root : (root + hop - 1) % kGpus;
          hops.push_back({parent, child, {parent, kGpus, child}, isCapable && hop > 1 ? 1 : 0});
        }
        addTree(forest, root, multiplicity, hops);
      }
    }
    return forest;
  };
  sample.schedule.broadcastForest = forestOf(out);
  sample.schedule.reduceForest = schedule::reversed(forestOf(in));
  sample.schedule.overlapped = true;
  sample.schedule.ownCopies = ownCopies;
  sample.schedule.allreduceBound = algbw;
  return sample;
}

}  // namespace coppice::samples
