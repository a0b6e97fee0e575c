// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedule/rotation.hpp"
#include "support/sample_schedules.hpp"

/// Forests of regular clusters, worked out by hand: the tree of rank 0 and its images.
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

  /// GPUs that get their data from `gpu` in the tree of rank 0: of the other pods, of the other boxes, of its box.
  [[nodiscard]] std::vector<int> childrenOf(int gpu) const {
    const int podSize = boxes * gpus;
    std::vector<int> children;
    for (int pod = 1; gpu == 0 && pod < pods; ++pod) {
      children.push_back(pod * podSize);
    }
    for (int box = 1; gpu % podSize == 0 && box < boxes; ++box) {
      children.push_back(gpu + box * gpus);
    }
    for (int place = 1; gpu % gpus == 0 && place < gpus; ++place) {
      children.push_back(gpu + place);
    }
    return children;
  }

  [[nodiscard]] std::vector<fabric::NodeIndex> routeBetween(int from, int to) const {
    const int fromPod = from / (boxes * gpus);
    const int toPod = to / (boxes * gpus);
    if (from / gpus == to / gpus) {
      return {from, boxSwitch(from / gpus), to};
    }
    if (fromPod == toPod) {
      return {from, nic(from), podSwitch(fromPod), nic(to), to};
    }
    return {from, nic(from), podSwitch(fromPod), core(), podSwitch(toPod), nic(to), to};
  }

  /// Moves every box, pod or GPU of a box to the place of the next.
  [[nodiscard]] schedule::Rotation rotation(int step, int count) const {
    schedule::Rotation rotation{step, count, {}};
    const auto moved = [&](int gpu) { return schedule::rotated(gpu, rotation); };
    std::vector<fabric::NodeIndex> image;
    for (int gpu = 0; gpu < gpuCount(); ++gpu) {
      image.push_back(moved(gpu));
    }
    for (int gpu = 0; gpu < gpuCount(); ++gpu) {
      image.push_back(nic(moved(gpu)));
    }
    for (int box = 0; box < pods * boxes; ++box) {
      image.push_back(boxSwitch(moved(box * gpus) / gpus));
    }
    for (int pod = 0; pod < pods; ++pod) {
      image.push_back(podSwitch(moved(pod * boxes * gpus) / (boxes * gpus)));
    }
    if (pods > 1) {
      image.push_back(core());
    }
    rotation.image = std::move(image);
    return rotation;
  }

  [[nodiscard]] schedule::Forest forest() const {
    schedule::Forest forest = emptyForest(
        gpuCount(), std::vector<std::int64_t>(static_cast<std::size_t>(gpuCount()), 1), Rational(pods * boxes - 1));
    std::vector<Hop> hops;
    std::vector<int> queue{0};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const int child : childrenOf(queue[i])) {
        hops.push_back({queue[i], child, routeBetween(queue[i], child)});
        queue.push_back(child);
      }
    }
    addTree(forest, 0, 1, hops);
    for (const auto& [step, count] : {std::pair(1, gpus), std::pair(gpus, boxes), std::pair(gpus * boxes, pods)}) {
      if (count > 1) {
        forest.rotations.push_back(rotation(step, count));
      }
    }
    return forest;
  }

  /// The optimal allgather: the tree of rank 0 and its images.
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
    sample.schedule.broadcastForest = forest();
    return sample;
  }
};

}  // namespace coppice::samples
