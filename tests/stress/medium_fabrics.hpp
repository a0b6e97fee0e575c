// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "fabric/fabric.hpp"
#include "support/large_fabrics.hpp"

/// Fabrics of about 40 to 300 GPUs from a seed: large enough to fall into parts and to have levels, small enough to
/// solve hundreds.
namespace coppice::test {

inline constexpr int kMediumKinds = 13;

/// Boxes whose bottleneck is the single GPU, equal or of two generations, on any network; some have lost GPUs.
inline fabric::Description damagedRacks(unsigned seed) {
  Dice dice(seed);
  const int boxes = dice.index(3, 12);
  const auto perBox = [&](const std::string& first, const std::string& second) {
    std::string text = first;
    const bool isMixed = dice.oneIn(3);
    for (int box = 1; box < boxes; ++box) {
      text += "," + (isMixed && dice.oneIn(2) ? second : first);
    }
    return text;
  };
  constexpr const char* kNetworks[] = {"simple", "planes", "rails", "rail-only", "leaf-spine"};
  const fabric::Description whole = presetDescription("cluster", {{"boxes", std::to_string(boxes)},
                                                                  {"gpus", std::to_string(dice.index(8, 16))},
                                                                  {"nvlink", perBox("300", "450")},
                                                                  {"nic", perBox("100", "200")},
                                                                  {"network", kNetworks[dice.pick(0, 4)]}});
  std::vector<std::string> kept;
  const bool isWhole = dice.oneIn(3);
  for (const fabric::NodeDescription& node : whole.nodes) {
    if (node.kind == "gpu" && (isWhole || !dice.oneIn(20))) {
      kept.push_back(node.id);
    }
  }
  auto rest = fabric::subset(whole, kept);
  return rest ? *std::move(rest) : whole;
}

inline fabric::Description mediumFabric(int kind, unsigned seed) {
  Dice dice(seed);
  const auto number = [&](int low, int high) { return std::to_string(dice.index(low, high)); };
  switch (kind) {
    case 0:
      return lossyA100(dice.index(40, 250), seed);
    case 1:
      return lossyA100(dice.index(40, 160), seed, true);
    case 2:
      return lossyMi250(dice.index(3, 16), seed);
    case 3:
      return irregularMultiSwitch(dice.index(6, 30), seed);
    case 4:
      return mixedGenerations(dice.index(6, 30), seed);
    case 5:
      return randomEulerian(dice.index(40, 120), dice.index(0, 20), dice.index(2, 8), seed);
    case 6:
      return unequalPorts(dice.index(40, 120), dice.index(0, 4), seed);
    case 7:
      return presetDescription("dragonfly", {{"a", number(2, 5)},
                                             {"p", number(1, 4)},
                                             {"h", number(1, 2)},
                                             {"local", number(10, 60)},
                                             {"global", number(10, 60)}});
    case 8:
      return presetDescription("fat-tree-3", {{"pods", number(2, 5)},
                                              {"leaves_per_pod", number(2, 4)},
                                              {"gpus_per_leaf", number(2, 8)},
                                              {"spines_per_pod", number(1, 4)},
                                              {"cores", number(2, 8)},
                                              {"wiring", "full"},
                                              {"oversubscription", dice.oneIn(2) ? "1" : "3/2"},
                                              {"core_oversubscription", dice.oneIn(2) ? "1" : "2"}});
    case 9:
      return presetDescription(dice.oneIn(2) ? "rail-optimised" : "rail-only",
                               {{"boxes", number(5, 30)}, {"gpus", number(2, 8)}, {"nic", number(20, 60)}});
    case 10:
      return presetDescription(dice.oneIn(4) ? "mesh" : "torus",
                               {{"dims", number(3, 8) + "x" + number(2, 7) + "x" + number(1, 4)}});
    case 11:
      return presetDescription("dgx-h100", {{"boxes", number(4, 24)},
                                            {"gpus", number(4, 8)},
                                            {"network", "planes"},
                                            {"planes", number(2, 4)},
                                            {"nic", number(20, 60)}});
    case 12:
      return damagedRacks(seed);
    default:
      throw std::invalid_argument("no such kind of fabric");
  }
}

}  // namespace coppice::test
