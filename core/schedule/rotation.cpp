// SPDX-License-Identifier: Apache-2.0
#include "schedule/rotation.hpp"

#include <algorithm>
#include <utility>

#include "schedule/arc_finder.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/groups.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

/// @param lifting from the GPUs, by rank
std::optional<Rotation> found(const fabric::Fabric& fabric, symmetry::Lifting& lifting, int step, int count) {
  Rotation rotation{step, count, {}};
  std::vector<NodeIndex> images;
  for (Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    images.push_back(fabric.gpus()[rotated(rank, rotation)]);
  }
  auto image = lifting.find(images);
  if (!image) {
    return std::nullopt;
  }
  rotation.image = *std::move(image);
  return rotation;
}

const char* imageFault(const Rotation& rotation, int nodeCount) {
  if (rotation.image.size() != static_cast<std::size_t>(nodeCount)) {
    return "does not map all nodes of the fabric";
  }
  std::vector<bool> isImage(rotation.image.size(), false);
  for (const NodeIndex image : rotation.image) {
    if (image < 0 || image >= nodeCount || isImage[image]) {
      return "does not map the nodes one to one";
    }
    isImage[image] = true;
  }
  std::vector<bool> isSeen(rotation.image.size(), false);
  for (std::size_t first = 0; first < isSeen.size(); ++first) {
    int length = 0;
    for (std::size_t node = first; !isSeen[node]; node = static_cast<std::size_t>(rotation.image[node])) {
      isSeen[node] = true;
      ++length;
    }
    if (length > 0 && rotation.count % length != 0) {
      return "does not bring all nodes back after as many times as its count";
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> rankFault(std::span<const Rotation> rotations, int gpuCount) {
  std::int64_t step = 1;
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    if (rotations[i].count < 2 || rotations[i].step != step) {
      return "rotation " + std::to_string(i) + " has step " + std::to_string(rotations[i].step) + " and count " +
             std::to_string(rotations[i].count) + "; its step must be " + std::to_string(step) +
             " and its count at least 2";
    }
    step *= rotations[i].count;
    if (step > gpuCount) {
      break;
    }
  }
  if (!rotations.empty() && step != gpuCount) {
    return "the counts of the rotations multiply to " + std::string(step > gpuCount ? "more" : "less") + " than the " +
           std::to_string(gpuCount) + " GPUs";
  }
  return std::nullopt;
}

std::optional<std::string> rotationFault(const Forest& forest, int nodeCount) {
  if (auto fault = rankFault(forest.rotations, forest.gpuCount)) {
    return fault;
  }
  for (std::size_t i = 0; i < forest.rotations.size(); ++i) {
    if (const char* const fault = imageFault(forest.rotations[i], nodeCount)) {
      return "rotation " + std::to_string(i) + " " + fault;
    }
  }
  const bool areOfRankZero =
      std::all_of(forest.trees.begin(), forest.trees.end(), [](const Tree& tree) { return tree.root == 0; });
  return forest.rotations.empty() || areOfRankZero
             ? std::nullopt
             : std::optional<std::string>("a tree is not rooted at rank 0; those of other ranks are images");
}

std::optional<Rotation> rotationOf(const fabric::Fabric& fabric, int step, int count) {
  if (step < 1 || count < 2 || std::int64_t{step} * count > fabric.gpuCount() ||
      fabric.gpuCount() % (std::int64_t{step} * count) != 0) {
    return std::nullopt;
  }
  const symmetry::ColouredDigraph graph = symmetry::graphOf(fabric);
  symmetry::Lifting lifting(graph, fabric.gpus());
  return found(fabric, lifting, step, count);
}

std::vector<Rotation> rotationsOf(const fabric::Fabric& fabric) {
  const symmetry::ColouredDigraph graph = symmetry::graphOf(fabric);
  symmetry::Lifting lifting(graph, fabric.gpus());
  std::vector<Rotation> rotations;
  for (int step = 1; step < fabric.gpuCount();) {
    const int max = fabric.gpuCount() / step;
    std::optional<Rotation> rotation;
    for (int count = max; count >= 2 && !rotation; --count) {
      if (max % count == 0) {
        rotation = found(fabric, lifting, step, count);
      }
    }
    if (!rotation) {
      return {};
    }
    step *= rotation->count;
    rotations.push_back(*std::move(rotation));
  }
  return rotations;
}

std::optional<std::string> symmetryFault(const fabric::Fabric& fabric, const Rotation& rotation) {
  const auto nodes = fabric.nodes();
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const fabric::Node& image = nodes[rotation.image[node]];
    const Rank wanted = nodes[node].rank < 0 ? -1 : rotated(nodes[node].rank, rotation);
    if (image.kind != nodes[node].kind || image.rank != wanted) {
      return "takes \"" + nodes[node].id + "\" to \"" + image.id + "\", which is not its equal";
    }
  }
  const ArcFinder arcs(fabric, Direction::out);
  for (const fabric::Arc& arc : fabric.arcs()) {
    const NodeIndex tail = rotation.image[arc.tail];
    const NodeIndex head = rotation.image[arc.head];
    const std::int32_t image = arcs.find(tail, head);
    if (image == kNoArc || fabric.arcs()[image].bandwidth != arc.bandwidth) {
      return "takes the link \"" + nodes[arc.tail].id + "\" -> \"" + nodes[arc.head].id + "\" to \"" + nodes[tail].id +
             "\" -> \"" + nodes[head].id + "\", where there is no equal link";
    }
  }
  return std::nullopt;
}

std::vector<std::int32_t> rotatedArcs(const fabric::Fabric& fabric, const Rotation& rotation) {
  const ArcFinder arcs(fabric, Direction::out);
  std::vector<std::int32_t> images;
  images.reserve(fabric.arcs().size());
  for (const fabric::Arc& arc : fabric.arcs()) {
    images.push_back(arcs.find(rotation.image[arc.tail], rotation.image[arc.head]));
  }
  return images;
}

bool keepsLatencies(const fabric::Fabric& fabric, std::span<const Rotation> rotations) {
  const auto arcs = fabric.arcs();
  if (std::none_of(arcs.begin(), arcs.end(), [](const fabric::Arc& arc) { return arc.latency.has_value(); })) {
    return true;
  }
  return std::all_of(rotations.begin(), rotations.end(), [&](const Rotation& rotation) {
    const std::vector<std::int32_t> images = rotatedArcs(fabric, rotation);
    return std::equal(arcs.begin(), arcs.end(), images.begin(), [&](const fabric::Arc& arc, std::int32_t image) {
      return image != kNoArc && arcs[image].latency == arc.latency;
    });
  });
}

RotationPowers::RotationPowers(std::vector<Rotation> rotations) : m_rotations(std::move(rotations)) {
  for (const Rotation& rotation : m_rotations) {
    Cycles& cycles = m_cycles.emplace_back();
    const std::size_t nodes = rotation.image.size();
    cycles.place.assign(nodes, -1);
    cycles.first.assign(nodes, 0);
    cycles.length.assign(nodes, 0);
    for (std::size_t start = 0; start < nodes; ++start) {
      if (cycles.place[start] >= 0) {
        continue;
      }
      const auto first = static_cast<int>(cycles.order.size());
      for (std::size_t node = start; cycles.place[node] < 0; node = static_cast<std::size_t>(rotation.image[node])) {
        cycles.place[node] = static_cast<int>(cycles.order.size());
        cycles.order.push_back(static_cast<NodeIndex>(node));
      }
      const int length = static_cast<int>(cycles.order.size()) - first;
      for (int place = first; place < first + length; ++place) {
        cycles.first[cycles.order[place]] = first;
        cycles.length[cycles.order[place]] = length;
      }
    }
  }
}

}  // namespace coppice::schedule
