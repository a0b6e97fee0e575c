// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedule/factored.hpp"
#include "support/sample_schedules.hpp"

/// Factored forests of regular clusters, worked out by hand.
namespace coppice::samples {

/// Pods of boxes of GPUs: each GPU has a fast link to its box's switch and a NIC at 1 GB/s to its pod's switch; the
/// pods' switches meet at a core switch (with one pod there is none).
///
/// With B boxes in all, N GPUs and G in a box, what leaves all boxes but one is N-G shards through G GB/s, so
/// allgather reaches N/(B-1) GB/s, with one tree per root and B-1 trees per GB/s. Tree (p, b, g) sends from there to
/// the same place (b, g) of every pod, from those to the GPUs g of their pods' boxes, and from those to their boxes:
/// every NIC then sends and receives B-1 streams.
struct RegularCluster {
  int pods = 1;
  int boxes = 2;  ///< per pod
  int gpus = 2;   ///< per box

  [[nodiscard]] int gpuCount() const { return pods * boxes * gpus; }
  /// GPUs come first, by pod, box and place; their NICs in the same order; boxes', pods' and core switches.
  [[nodiscard]] int nic(int gpu) const { return gpuCount() + gpu; }
  [[nodiscard]] int boxSwitch(int box) const { return 2 * gpuCount() + box; }
  [[nodiscard]] int podSwitch(int pod) const { return 2 * gpuCount() + pods * boxes + pod; }
  [[nodiscard]] int core() const { return podSwitch(pods); }

  [[nodiscard]] fabric::Description describeFabric() const {
    fabric::Description description;
    description.name = "regular cluster";
    const auto gpuId = [](int gpu) { return "g" + std::to_string(gpu); };
    const auto nicId = [](int gpu) { return "n" + std::to_string(gpu); };
    for (int gpu = 0; gpu < gpuCount(); ++gpu) {
      description.nodes.push_back({.id = gpuId(gpu), .kind = "gpu"});
    }
    for (int gpu = 0; gpu < gpuCount(); ++gpu) {
      description.nodes.push_back({.id = nicId(gpu), .kind = "nic"});
    }
    for (int box = 0; box < pods * boxes; ++box) {
      description.nodes.push_back({.id = "s" + std::to_string(box), .kind = "switch"});
    }
    for (int pod = 0; pod < pods; ++pod) {
      description.nodes.push_back({.id = "p" + std::to_string(pod), .kind = "switch"});
    }
    if (pods > 1) {
      description.nodes.push_back({.id = "core", .kind = "switch"});
    }
    for (int gpu = 0; gpu < gpuCount(); ++gpu) {
      const std::string pod = "p" + std::to_string(gpu / (boxes * gpus));
      description.links.push_back(
          {.src = gpuId(gpu), .dst = "s" + std::to_string(gpu / gpus), .bandwidth = std::to_string(2 * gpus)});
      description.links.push_back({.src = gpuId(gpu), .dst = nicId(gpu), .bandwidth = "1"});
      description.links.push_back({.src = nicId(gpu), .dst = pod, .bandwidth = "1"});
    }
    for (int pod = 0; pods > 1 && pod < pods; ++pod) {
      description.links.push_back(
          {.src = "p" + std::to_string(pod), .dst = "core", .bandwidth = std::to_string(boxes * gpus)});
    }
    return description;
  }

  /// `nodes` equal nodes round one switch, a star from each: a tree for every way to enter the part, which goes on to
  /// the same place of all other nodes.
  static schedule::FactoredForest::Shape starShape(int nodes, int childShape, int placesPerNode) {
    schedule::FactoredForest::Shape shape;
    shape.childShape.assign(static_cast<std::size_t>(nodes), childShape);
    shape.switchCount = 1;
    addVia(shape, {0});
    for (int root = 0; root < nodes; ++root) {
      shape.skeletons.push_back({root, static_cast<std::int64_t>(shape.arcs.size())});
      for (int head = 0; head < nodes; ++head) {
        if (head != root) {
          shape.arcs.push_back({root, head});
        }
      }
    }
    for (int place = 0; place < placesPerNode; ++place) {
      const auto first = static_cast<std::int64_t>(shape.choices.size());
      shape.choices.push_back({1, 0, 0, 0, place});
      if (nodes > 1) {
        shape.choices.push_back({nodes - 1, 0, place, place, place});
      }
      shape.patterns.push_back({first, static_cast<std::int64_t>(shape.choices.size()) - first});
    }
    for (int root = 0; root < nodes; ++root) {
      for (int place = 0; place < placesPerNode; ++place) {
        shape.trees.push_back({root, place, root * placesPerNode + place, 1});
      }
    }
    return shape;
  }

  static void addVia(schedule::FactoredForest::Shape& shape, const std::vector<int>& switches) {
    shape.viaSwitches.insert(shape.viaSwitches.end(), switches.begin(), switches.end());
    shape.viaStart.push_back(static_cast<std::int64_t>(shape.viaSwitches.size()));
  }

  /// Leaves through the NIC of each leaf, and on through switch 0 where `through`. NICs are switches 1, 2, ...
  static void addPorts(schedule::FactoredForest::Shape& shape, int leaves, bool through) {
    shape.switchCount = 1 + leaves;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      shape.outPorts.push_back({leaf, static_cast<int>(shape.viaStart.size()) - 1});
      addVia(shape, through ? std::vector<int>{1 + leaf, 0} : std::vector<int>{1 + leaf});
      shape.inPorts.push_back({leaf, static_cast<int>(shape.viaStart.size()) - 1});
      addVia(shape, through ? std::vector<int>{0, 1 + leaf} : std::vector<int>{1 + leaf});
    }
  }

  [[nodiscard]] schedule::FactoredForest factored() const {
    schedule::FactoredForest forest;
    forest.shapes.push_back(starShape(gpus, schedule::FactoredForest::kGpu, 1));
    addPorts(forest.shapes[0], gpus, false);
    forest.shapes.push_back(starShape(boxes, 0, gpus));
    if (pods > 1) {
      addPorts(forest.shapes[1], boxes * gpus, true);
      forest.shapes.push_back(starShape(pods, 1, boxes * gpus));
    }
    schedule::FactoredForest::Instance top{2, {}, {core()}};
    for (int pod = 0; pod < pods; ++pod) {
      schedule::FactoredForest::Instance podPlace{1, {}, {podSwitch(pod)}};
      for (int box = pod * boxes; box < (pod + 1) * boxes; ++box) {
        schedule::FactoredForest::Instance boxPlace{0, {}, {boxSwitch(box)}};
        for (int gpu = box * gpus; gpu < (box + 1) * gpus; ++gpu) {
          boxPlace.children.push_back(gpu);
          boxPlace.switches.push_back(nic(gpu));
          if (pods > 1) {
            podPlace.switches.push_back(nic(gpu));
          }
        }
        podPlace.children.push_back(static_cast<int>(forest.instances.size()));
        forest.instances.push_back(std::move(boxPlace));
      }
      top.children.push_back(static_cast<int>(forest.instances.size()));
      forest.instances.push_back(std::move(podPlace));
    }
    if (pods > 1) {
      forest.instances.push_back(std::move(top));
    }
    forest.top = static_cast<int>(forest.instances.size()) - 1;
    return forest;
  }

  /// The optimal allgather, by parts.
  [[nodiscard]] Sample sample() const {
    const int boxCount = pods * boxes;
    const Bandwidth algbw(gpuCount(), boxCount - 1);
    std::vector<fabric::NodeIndex> allButFirstBox;
    for (int node = 0; node < core() + (pods > 1 ? 1 : 0); ++node) {
      const bool inFirstBox = node < gpus || (node >= gpuCount() && node < gpuCount() + gpus) || node == boxSwitch(0);
      if (!inFirstBox) {
        allButFirstBox.push_back(node);
      }
    }
    Sample sample = finish(describeFabric(), Collective::allgather, algbw,
                           {{std::move(allButFirstBox), gpuCount() - gpus, Bandwidth(gpus)}});
    schedule::Forest forest = emptyForest(
        gpuCount(), std::vector<std::int64_t>(static_cast<std::size_t>(gpuCount()), 1), Rational(boxCount - 1));
    forest.factored = std::make_shared<const schedule::FactoredForest>(factored());
    sample.schedule.broadcastForest = std::move(forest);
    return sample;
  }
};

}  // namespace coppice::samples
