// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "fabric/fabric.hpp"
#include "support/large_fabrics.hpp"

/// Fabrics of about 40 to 300 GPUs from a seed: large enough to fall into parts and to have levels, small enough to
/// solve hundreds.
namespace coppice::test {

inline constexpr int kMediumKinds = 15;

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

/// Pairs of GPUs with a link of their own, each GPU on all of one to four switches, every direction with a bandwidth of
/// its own: no switch is balanced, and single GPUs are the bottleneck.
inline fabric::Description unbalancedPairs(unsigned seed) {
  Dice dice(seed);
  const int pairs = dice.index(20, 60);
  const int switches = dice.index(1, 4);
  Sketch sketch("unbalanced pairs");
  for (int s = 0; s < switches; ++s) {
    sketch.relay("s" + std::to_string(s));
  }
  const auto join = [&](const std::string& a, const std::string& b) {
    sketch.link(a, b, dice.pick(10, 14), false);
    sketch.link(b, a, dice.pick(10, 14), false);
  };
  for (int pair = 0; pair < pairs; ++pair) {
    const std::string box = "p" + std::to_string(pair);
    const std::string first = sketch.gpu(box + "a", box);
    const std::string second = sketch.gpu(box + "b", box);
    join(first, second);
    for (int s = 0; s < switches; ++s) {
      join(first, "s" + std::to_string(s));
      join(second, "s" + std::to_string(s));
    }
  }
  return sketch.take();
}

/// Equal boxes on two or three planes of unequal speed.
inline fabric::Description unequalPlanes(unsigned seed) {
  Dice dice(seed);
  const int boxes = dice.index(4, 24);
  const int size = dice.index(4, 8);
  const std::int64_t speeds[] = {50, 25, 10};
  const int planes = dice.index(2, 3);
  const std::int64_t nvlink = dice.pick(100, 450);
  Sketch sketch("unequal planes");
  for (int plane = 0; plane < planes; ++plane) {
    sketch.relay("p" + std::to_string(plane));
  }
  for (int b = 0; b < boxes; ++b) {
    const std::string box = "b" + std::to_string(b);
    sketch.relay(box + "nvs", box);
    for (int i = 0; i < size; ++i) {
      const std::string gpu = sketch.gpu(box + "g" + std::to_string(i), box);
      sketch.link(gpu, box + "nvs", nvlink);
      for (int plane = 0; plane < planes; ++plane) {
        sketch.link(gpu, "p" + std::to_string(plane), speeds[plane]);
      }
    }
  }
  return sketch.take();
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
    case 13:
      return unbalancedPairs(seed);
    case 14:
      return unequalPlanes(seed);
    default:
      throw std::invalid_argument("no such kind of fabric");
  }
}

}  // namespace coppice::test
