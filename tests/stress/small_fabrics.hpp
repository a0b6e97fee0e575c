// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/large_fabrics.hpp"

/// Small fabrics of every kind that clusters have, each from a seed: at most 24 GPUs.
namespace coppice::test {

enum class SmallKind {
  duplex,
  oneWay,
  unbalanced,
  lossyBoxes,
  lossyMi250,
  fatTree,
  dragonfly,
  torus,
  dense,
  rails,
  planes,
  nicChains,
  irregular,
  mixed,
  fractions,
  wideRange
};

inline constexpr SmallKind kSmallKinds[] = {
    SmallKind::duplex,     SmallKind::oneWay,  SmallKind::unbalanced, SmallKind::lossyBoxes,
    SmallKind::lossyMi250, SmallKind::fatTree, SmallKind::dragonfly,  SmallKind::torus,
    SmallKind::dense,      SmallKind::rails,   SmallKind::planes,     SmallKind::nicChains,
    SmallKind::irregular,  SmallKind::mixed,   SmallKind::fractions,  SmallKind::wideRange};

inline std::string_view toString(SmallKind kind) {
  constexpr std::string_view kNames[] = {
      "duplex", "one-way", "unbalanced", "lossy boxes", "lossy mi250", "fat tree", "dragonfly", "torus",
      "dense",  "rails",   "planes",     "nic chains",  "irregular",   "mixed",    "fractions", "wide range"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// A random connected multigraph of GPUs, switches and nics.
inline fabric::Description smallGraph(Dice& dice, int gpus, int switches, std::int64_t largest) {
  Sketch sketch("small graph");
  std::vector<std::string> nodes;
  for (int i = 0; i < gpus; ++i) {
    nodes.push_back(sketch.gpu("g" + std::to_string(i)));
  }
  for (int i = 0; i < switches; ++i) {
    nodes.push_back(sketch.add("s" + std::to_string(i), dice.oneIn(3) ? "nic" : "switch"));
  }
  dice.shuffle(nodes);
  const int count = gpus + switches;
  const auto node = [&](std::int64_t i) { return nodes[i]; };
  for (int i = 1; i < count; ++i) {  // a random tree joins everything
    sketch.link(node(i), node(dice.pick(0, i - 1)), dice.pick(1, largest));
  }
  for (std::int64_t extra = dice.pick(0, 2LL * count); extra > 0; --extra) {
    const std::int64_t from = dice.pick(0, count - 1);
    const std::int64_t to = dice.pick(0, count - 1);
    if (from != to) {
      sketch.link(node(from), node(to), dice.pick(1, largest));
    }
  }
  return sketch.take();
}

/// Boxes with a switch each on up to two linked outer switches; GPUs may be lost, NICs slow, boxes of other kinds.
inline fabric::Description smallBoxes(Dice& dice, bool isIrregular, bool isMixed) {
  Sketch sketch("small boxes");
  const int outers = isIrregular ? 2 : 1;
  for (int i = 0; i < outers; ++i) {
    sketch.relay("ib" + std::to_string(i));
  }
  if (outers > 1) {
    sketch.link("ib0", "ib1", 25 * dice.pick(1, 8));
  }
  const int boxes = dice.index(2, 5);
  for (int box = 0; box < boxes; ++box) {
    const std::string name = "b" + std::to_string(box);
    const std::string inner = sketch.relay(name + "nvs", name);
    const std::int64_t inside = isMixed ? 150 * dice.pick(1, 3) : 300;
    const std::int64_t outside = isMixed ? dice.pick(1, 4) * 12 : 25;
    for (int i = 0, gpus = dice.index(1, 4); i < gpus; ++i) {
      const std::string id = sketch.gpu(name + "g" + std::to_string(i), name);
      sketch.link(id, inner, isIrregular ? dice.pick(2, 6) * 50 : inside);
      sketch.link(id, "ib" + std::to_string(dice.index(0, outers - 1)), dice.oneIn(6) ? 12 : outside);
    }
  }
  return sketch.take();
}

/// GPUs behind chains of one to three nics of the same or falling speed, on one or two switches.
inline fabric::Description smallNicChains(Dice& dice) {
  Sketch sketch("nic chains");
  sketch.relay("s0");
  sketch.relay("s1");
  sketch.link("s0", "s1", dice.pick(1, 60));
  for (int i = 0, gpus = dice.index(2, 8); i < gpus; ++i) {
    std::string last = sketch.gpu("g" + std::to_string(i));
    std::int64_t bandwidth = dice.pick(5, 40);
    for (int nic = 0, nics = dice.index(1, 3); nic < nics; ++nic) {
      const std::string next = sketch.add("n" + std::to_string(i) + "_" + std::to_string(nic), "nic");
      sketch.link(last, next, bandwidth);
      bandwidth = dice.oneIn(2) ? bandwidth : dice.pick(1, bandwidth);
      last = next;
    }
    sketch.link(last, "s" + std::to_string(dice.index(0, 1)), bandwidth);
  }
  return sketch.take();
}

/// A one-way sum of cycles with a few one-way links more, so that ingress and egress differ at some nodes.
inline fabric::Description smallUnbalanced(Dice& dice, unsigned seed) {
  fabric::Description description = randomEulerian(dice.index(2, 6), dice.index(0, 3), dice.index(1, 4), seed);
  for (std::int64_t extra = dice.pick(1, 4); extra > 0; --extra) {
    const auto count = static_cast<std::int64_t>(description.nodes.size());
    const auto from = static_cast<std::size_t>(dice.pick(0, count - 1));
    const auto to = static_cast<std::size_t>(dice.pick(0, count - 1));
    if (from != to) {
      fabric::LinkDescription link;
      link.src = description.nodes[from].id;
      link.dst = description.nodes[to].id;
      link.bandwidth = std::to_string(dice.pick(1, 30));
      link.duplex = false;
      description.links.push_back(link);
    }
  }
  return description;
}

inline fabric::Description smallTorus(Dice& dice) {
  const auto side = [&](int max) { return std::to_string(dice.index(1, max)); };
  const std::string dims = dice.oneIn(2) ? std::to_string(dice.index(2, 4)) + "x" + side(5)
                                         : std::to_string(dice.index(2, 3)) + "x" + side(3) + "x" + side(2);
  return presetDescription(dice.oneIn(3) ? "mesh" : "torus",
                           {{"dims", dims}, {"bandwidth", std::to_string(dice.pick(1, 9))}});
}

inline fabric::Description smallDense(Dice& dice) {
  switch (dice.index(0, 3)) {
    case 0:
      return presetDescription("complete", {{"gpus", std::to_string(dice.index(2, 9))}});
    case 1:
      return presetDescription("complete-bipartite", {{"left", std::to_string(dice.index(1, 6))},
                                                      {"right", std::to_string(dice.index(1, 6))}});
    case 2:
      return presetDescription("hypercube", {{"dimension", std::to_string(dice.index(1, 4))}});
    default:
      return presetDescription(
          "ring", {{"gpus", std::to_string(dice.index(2, 12))}, {"direction", dice.oneIn(2) ? "one-way" : "two-way"}});
  }
}

inline fabric::Description smallFatTree(Dice& dice) {
  const auto number = [&](int low, int high) { return std::to_string(dice.index(low, high)); };
  const std::string over = dice.oneIn(2) ? "1" : (dice.oneIn(2) ? "2" : "3/2");
  if (dice.oneIn(2)) {
    return presetDescription("fat-tree-2", {{"leaves", number(2, 4)},
                                            {"gpus_per_leaf", number(1, 5)},
                                            {"spines", number(1, 3)},
                                            {"oversubscription", over}});
  }
  return presetDescription("fat-tree-3", {{"pods", number(2, 3)},
                                          {"leaves_per_pod", number(1, 2)},
                                          {"gpus_per_leaf", number(1, 3)},
                                          {"spines_per_pod", number(1, 2)},
                                          {"cores", number(1, 3)},
                                          {"wiring", "full"},
                                          {"core_oversubscription", over}});
}

inline fabric::Description smallRails(Dice& dice, bool isPlanes) {
  const std::string boxes = std::to_string(dice.index(2, 4));
  const std::string gpus = std::to_string(dice.index(1, 5));
  if (isPlanes) {
    return presetDescription("dgx-h100", {{"boxes", boxes},
                                          {"gpus", std::to_string(dice.index(2, 5))},
                                          {"network", "planes"},
                                          {"planes", std::to_string(dice.index(1, 2))},
                                          {"nic", std::to_string(dice.pick(10, 60))}});
  }
  return presetDescription(dice.oneIn(2) ? "rail-optimised" : "rail-only",
                           {{"boxes", boxes}, {"gpus", gpus}, {"nic", std::to_string(dice.pick(10, 60))}});
}

/// One or two MI250 boxes with a random part of their GPUs.
inline fabric::Description smallMi250(Dice& dice) {
  constexpr int kGpusOfBox = 16;
  const int boxes = dice.index(2, 3);
  std::string sets;
  for (int box = 0; box < boxes; ++box) {
    std::vector<int> gpus(kGpusOfBox);
    std::iota(gpus.begin(), gpus.end(), 0);
    dice.shuffle(gpus);
    gpus.resize(static_cast<std::size_t>(dice.index(1, 8)));
    std::sort(gpus.begin(), gpus.end());
    sets += box == 0 ? "" : "/";
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      sets += (i == 0 ? "" : ",") + std::to_string(gpus[i]);
    }
  }
  return presetDescription("mi250", {{"boxes", std::to_string(boxes)}, {"gpus", sets}});
}

inline fabric::Description smallFabric(SmallKind kind, unsigned seed) {
  Dice dice(seed);
  switch (kind) {
    case SmallKind::duplex: {
      constexpr std::int64_t kLargest[] = {1, 7, 50, 1'000'003};
      return smallGraph(dice, dice.index(2, 9), dice.index(0, 5), kLargest[dice.pick(0, 3)]);
    }
    case SmallKind::oneWay:
      return randomEulerian(dice.index(2, 8), dice.index(0, 4), dice.index(1, 5), seed);
    case SmallKind::unbalanced:
      return smallUnbalanced(dice, seed);
    case SmallKind::lossyBoxes:
      return smallBoxes(dice, false, false);
    case SmallKind::lossyMi250:
      return smallMi250(dice);
    case SmallKind::fatTree:
      return smallFatTree(dice);
    case SmallKind::dragonfly:
      return presetDescription("dragonfly", {{"a", std::to_string(dice.index(1, 3))},
                                             {"p", std::to_string(dice.index(1, 2))},
                                             {"h", "1"},
                                             {"local", std::to_string(dice.pick(10, 40))},
                                             {"global", std::to_string(dice.pick(10, 40))}});
    case SmallKind::torus:
      return smallTorus(dice);
    case SmallKind::dense:
      return smallDense(dice);
    case SmallKind::rails:
      return smallRails(dice, false);
    case SmallKind::planes:
      return smallRails(dice, true);
    case SmallKind::nicChains:
      return smallNicChains(dice);
    case SmallKind::irregular:
      return smallBoxes(dice, true, dice.oneIn(2));
    case SmallKind::mixed:
      return smallBoxes(dice, false, true);
    case SmallKind::fractions: {
      fabric::Description description = smallGraph(dice, dice.index(2, 6), dice.index(0, 3), 9);
      constexpr const char* kWritten[] = {"12.5", "25/2", "1/3", "400Gb/s", "2/7", "12.1", "8x25 GB/s", "1"};
      for (fabric::LinkDescription& link : description.links) {
        link.bandwidth = kWritten[dice.pick(0, 7)];
      }
      return description;
    }
    case SmallKind::wideRange: {
      fabric::Description description = smallGraph(dice, dice.index(2, 7), dice.index(1, 4), 9);
      for (fabric::LinkDescription& link : description.links) {
        std::int64_t bandwidth = dice.pick(1, 9);
        for (std::int64_t zeros = dice.pick(0, 11); zeros > 0; --zeros) {
          bandwidth *= 10;
        }
        link.bandwidth = std::to_string(bandwidth);
      }
      return description;
    }
  }
  throw std::invalid_argument("no such kind of fabric");
}

}  // namespace coppice::test
