// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fabric/description.hpp"
#include "presets/presets.hpp"

/// Fabrics at the sizes that real clusters have, regular ones from the presets and broken ones from a seed. The same
/// arguments give the same fabric on every platform.
namespace coppice::test {

/// Distributions of the standard library differ between platforms; remainders of the engine do not.
class Dice {
public:
  explicit Dice(unsigned seed) : m_engine(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(m_engine() % static_cast<std::uint64_t>(high - low + 1));
  }
  int index(int low, int high) { return static_cast<int>(pick(low, high)); }
  bool oneIn(int chances) { return pick(1, chances) == 1; }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[pick(0, static_cast<std::int64_t>(i) - 1)]);
    }
  }

private:
  std::mt19937_64 m_engine;
};

/// Nodes and links by name.
class Sketch {
public:
  explicit Sketch(std::string name) { m_description.name = std::move(name); }

  std::string add(std::string id, const char* kind, const std::string& box = {}) {
    fabric::NodeDescription node;
    node.id = std::move(id);
    node.kind = kind;
    node.box = box;
    m_description.nodes.push_back(node);
    return node.id;
  }
  std::string gpu(std::string id, const std::string& box = {}) { return add(std::move(id), "gpu", box); }
  std::string relay(std::string id, const std::string& box = {}) { return add(std::move(id), "switch", box); }

  void link(const std::string& from, const std::string& to, std::int64_t bandwidth, bool duplex = true) {
    fabric::LinkDescription link;
    link.src = from;
    link.dst = to;
    link.bandwidth = std::to_string(bandwidth);
    link.duplex = duplex;
    m_description.links.push_back(link);
  }

  [[nodiscard]] fabric::Description take() { return std::move(m_description); }

private:
  fabric::Description m_description;
};

/// A preset that must exist with arguments that must be right. Throws std::invalid_argument otherwise.
inline fabric::Description presetDescription(const std::string& name,
                                             const std::map<std::string, std::string>& arguments) {
  auto made = presets::make(name, arguments);
  if (!made) {
    throw std::invalid_argument(describe(made.error()));
  }
  return std::move(*made);
}

/// DGX A100 boxes that have lost up to three of their eight GPUs; with `slowNics` every tenth NIC runs at half speed.
inline fabric::Description lossyA100(int gpus, unsigned seed, bool slowNics = false) {
  Dice dice(seed);
  Sketch sketch("lossy A100");
  sketch.relay("ib0");
  for (int box = 0, made = 0; made < gpus; ++box) {
    const std::string name = "b" + std::to_string(box);
    const std::string inner = sketch.relay(name + "nvs", name);
    const int left = std::min(dice.index(5, 8), gpus - made);
    for (int i = 0; i < left; ++i) {
      const std::string id = sketch.gpu(name + "g" + std::to_string(i), name);
      sketch.link(id, inner, 300);
      sketch.link(id, "ib0", slowNics && dice.oneIn(10) ? 12 : 25);
    }
    made += left;
  }
  return sketch.take();
}

/// NVL72 racks that have lost GPUs at random, one in thirty; `gpus` are left.
inline fabric::Description damagedNvl72(int gpus, unsigned seed, const std::string& nic = "50",
                                        const std::string& network = "simple") {
  constexpr int kGpusOfRack = 72;
  Dice dice(seed);
  std::string sizes;
  int racks = 0;
  for (int made = 0; made < gpus; ++racks) {
    int left = 0;
    for (int i = 0; i < kGpusOfRack; ++i) {
      left += dice.oneIn(30) ? 0 : 1;
    }
    left = std::min(left, gpus - made);
    sizes += (racks == 0 ? "" : ",") + std::to_string(left);
    made += left;
  }
  auto description = presetDescription(
      "cluster",
      {{"boxes", std::to_string(racks)}, {"gpus", sizes}, {"nvlink", "900"}, {"nic", nic}, {"network", network}});
  description.name = "NVL72 racks that lost GPUs";
  return description;
}

/// MI250 boxes, each with a random half to all of its sixteen GPUs in use.
inline fabric::Description lossyMi250(int boxes, unsigned seed) {
  constexpr int kGpusOfBox = 16;
  Dice dice(seed);
  std::string sets;
  for (int box = 0; box < boxes; ++box) {
    std::vector<int> gpus(kGpusOfBox);
    std::iota(gpus.begin(), gpus.end(), 0);
    dice.shuffle(gpus);
    gpus.resize(static_cast<std::size_t>(dice.index(kGpusOfBox / 2, kGpusOfBox)));
    std::sort(gpus.begin(), gpus.end());
    sets += box == 0 ? "" : "/";
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      sets += (i == 0 ? "" : ",") + std::to_string(gpus[i]);
    }
  }
  auto description = presetDescription("mi250", {{"boxes", std::to_string(boxes)}, {"gpus", sets}});
  description.name = "lossy MI250";
  return description;
}

/// Boxes of 4 to 10 GPUs of unequal speed on three linked switches; most GPUs of a box hang on its home switch, some on
/// another one.
inline fabric::Description irregularMultiSwitch(int boxes, unsigned seed) {
  Dice dice(seed);
  Sketch sketch("irregular multi-switch");
  for (int i = 0; i < 3; ++i) {
    sketch.relay("ib" + std::to_string(i));
  }
  sketch.link("ib0", "ib1", 50LL * boxes);
  sketch.link("ib1", "ib2", 50LL * boxes);
  sketch.link("ib0", "ib2", 25LL * boxes);
  for (int box = 0; box < boxes; ++box) {
    const std::string name = "b" + std::to_string(box);
    const std::string inner = sketch.relay(name + "nvs", name);
    const int gpus = dice.index(4, 10);
    const int home = dice.index(0, 2);
    for (int i = 0; i < gpus; ++i) {
      const std::string id = sketch.gpu(name + "g" + std::to_string(i), name);
      sketch.link(id, inner, dice.pick(2, 6) * 50);
      const int outer = dice.oneIn(4) ? dice.index(0, 2) : home;
      sketch.link(id, "ib" + std::to_string(outer), 25);
    }
  }
  return sketch.take();
}

/// A100 and H100 boxes, and a few older ones of 4 GPUs, on leaf switches under two spines.
inline fabric::Description mixedGenerations(int boxes, unsigned seed) {
  Dice dice(seed);
  Sketch sketch("mixed generations");
  sketch.relay("spine0");
  sketch.relay("spine1");
  constexpr int kBoxesOfLeaf = 8;
  std::int64_t uplink = 0;
  for (int box = 0; box < boxes; ++box) {
    const std::string leaf = "leaf" + std::to_string(box / kBoxesOfLeaf);
    if (box % kBoxesOfLeaf == 0) {
      sketch.relay(leaf);
    }
    const std::string name = "b" + std::to_string(box);
    const std::string inner = sketch.relay(name + "nvs", name);
    struct Generation {
      int gpus;
      std::int64_t inside;
      std::int64_t nic;
    };
    constexpr Generation kGenerations[] = {{8, 300, 25}, {8, 450, 50}, {4, 150, 12}};
    const Generation& generation = kGenerations[dice.pick(0, 9) < 5 ? 0 : (dice.oneIn(5) ? 2 : 1)];
    for (int i = 0; i < generation.gpus; ++i) {
      const std::string id = sketch.gpu(name + "g" + std::to_string(i), name);
      sketch.link(id, inner, generation.inside);
      sketch.link(id, leaf, generation.nic);
      uplink += generation.nic;
    }
    if (box % kBoxesOfLeaf == kBoxesOfLeaf - 1 || box + 1 == boxes) {
      sketch.link(leaf, "spine0", (uplink + 1) / 2);
      sketch.link(leaf, "spine1", (uplink + 1) / 2);
      uplink = 0;
    }
  }
  return sketch.take();
}

/// A sum of random directed cycles over GPUs and switches: every node is balanced, no link has a twin.
inline fabric::Description randomEulerian(int gpus, int switches, int cycles, unsigned seed) {
  Dice dice(seed);
  Sketch sketch("random Eulerian digraph");
  std::vector<std::string> nodes;
  for (int i = 0; i < gpus; ++i) {
    nodes.push_back(sketch.gpu("g" + std::to_string(i)));
  }
  for (int i = 0; i < switches; ++i) {
    nodes.push_back(sketch.relay("s" + std::to_string(i)));
  }
  for (int cycle = 0; cycle < cycles; ++cycle) {
    dice.shuffle(nodes);
    // The first cycle visits every node, so that all are strongly connected.
    const std::size_t length =
        cycle == 0 ? nodes.size() : static_cast<std::size_t>(dice.pick(2, static_cast<std::int64_t>(nodes.size())));
    const std::int64_t bandwidth = dice.pick(1, 40);
    for (std::size_t i = 0; i < length; ++i) {
      sketch.link(nodes[i], nodes[(i + 1) % length], bandwidth, false);
    }
  }
  return sketch.take();
}

/// One switch with all GPUs on ports of unequal bandwidth. The direct links between GPUs (one-way cycles, none for 0)
/// are at random, so that there is no structure to use.
inline fabric::Description unequalPorts(int gpus, int cycles = 0, unsigned seed = 0) {
  constexpr std::int64_t kNarrowest = 1009;
  Dice dice(seed);
  Sketch sketch("one switch with unequal ports");
  sketch.relay("s0");
  std::vector<std::string> ids;
  for (int i = 0; i < gpus; ++i) {
    ids.push_back(sketch.gpu("g" + std::to_string(i)));
    sketch.link(ids.back(), "s0", kNarrowest + (std::int64_t{i} * i * 7 + i) % 61);
  }
  for (int cycle = 0; cycle < cycles; ++cycle) {
    dice.shuffle(ids);
    const std::size_t length = static_cast<std::size_t>(dice.pick(2, gpus));
    const std::int64_t bandwidth = dice.pick(1, 400);
    for (std::size_t i = 0; i < length; ++i) {
      sketch.link(ids[i], ids[(i + 1) % length], bandwidth, false);
    }
  }
  return sketch.take();
}

}  // namespace coppice::test
