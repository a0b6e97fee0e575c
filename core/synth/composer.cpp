// SPDX-License-Identifier: Apache-2.0
#include "synth/composer.hpp"

#include "synth/scatter_gather.hpp"
#include "synth/two_level.hpp"

namespace coppice::synth {

ComposerMaker composersOfBoxes(std::uint64_t seed, const Progress& progress) {
  return [seed, &progress](const Problem& problem, const Boxes& boxes, double seconds) -> std::unique_ptr<Composer> {
    if (problem.classes.size() == 1) {
      return ScatterGather::make(problem, boxes, seconds, seed, progress);
    }
    return TwoLevel::make(problem, boxes, seconds, seed, progress);
  };
}

}  // namespace coppice::synth
