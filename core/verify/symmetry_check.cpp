// SPDX-License-Identifier: Apache-2.0
#include "verify/symmetry_check.hpp"

#include <numeric>

#include "verify/fault_log.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::Rotation;

std::optional<std::string> numberFault(std::span<const Rotation> rotations, int gpuCount) {
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
  if (step != gpuCount) {
    return "the counts of the rotations multiply to " + std::string(step > gpuCount ? "more" : "less") + " than the " +
           std::to_string(gpuCount) + " GPUs";
  }
  return std::nullopt;
}

/// The lengths of the cycles; nothing where the images are not all nodes, each once.
std::optional<std::vector<int>> cyclesOf(const std::vector<NodeIndex>& image) {
  std::vector<char> isSeen(image.size(), 0);
  std::vector<int> lengths;
  for (std::size_t first = 0; first < image.size(); ++first) {
    if (isSeen[first] != 0) {
      continue;
    }
    int length = 0;
    auto node = static_cast<NodeIndex>(first);
    do {
      if (static_cast<std::size_t>(node) >= image.size() || isSeen[node] != 0) {
        return std::nullopt;
      }
      isSeen[node] = 1;
      node = image[node];
      ++length;
    } while (static_cast<std::size_t>(node) != first);
    lengths.push_back(length);
  }
  return lengths;
}

Rank shifted(Rank rank, const Rotation& rotation, int times) {
  const int place = rank / rotation.step % rotation.count;
  return rank + ((place + times) % rotation.count - place) * rotation.step;
}

}  // namespace

std::optional<std::string> rotationFault(std::span<const Rotation> rotations, const fabric::Fabric& fabric) {
  if (auto fault = numberFault(rotations, fabric.gpuCount())) {
    return fault;
  }
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    const std::string name = "rotation " + std::to_string(i);
    if (rotations[i].image.size() != static_cast<std::size_t>(fabric.nodeCount())) {
      return name + " maps " + std::to_string(rotations[i].image.size()) + " nodes of the fabric's " +
             std::to_string(fabric.nodeCount());
    }
    const auto cycles = cyclesOf(rotations[i].image);
    if (!cycles) {
      return name + " does not map the nodes one to one";
    }
    for (const int length : *cycles) {
      if (rotations[i].count % length != 0) {
        return name + " does not bring all nodes back after " + std::to_string(rotations[i].count) + " times";
      }
    }
  }
  return std::nullopt;
}

Rank imageOfRank(std::span<const Rotation> rotations, Rank rank, Rank root) {
  for (const Rotation& rotation : rotations) {
    rank = shifted(rank, rotation, root / rotation.step % rotation.count);
  }
  return rank;
}

NodeImages::NodeImages(std::span<const Rotation> rotations, int nodeCount)
    : m_rotations(rotations), m_exponents(rotations.size(), 0) {
  std::vector<NodeIndex> same(static_cast<std::size_t>(nodeCount));
  std::iota(same.begin(), same.end(), 0);
  m_products.assign(rotations.size() + 1, same);
}

void NodeImages::next() {
  for (std::size_t i = 0; i < m_rotations.size(); ++i) {
    if (++m_exponents[i] == m_rotations[i].count) {
      m_exponents[i] = 0;
      continue;
    }
    // The rotation comes before those from it on, and those below it start again.
    std::vector<NodeIndex> product;
    product.reserve(m_products[i].size());
    for (const NodeIndex node : m_rotations[i].image) {
      product.push_back(m_products[i][node]);
    }
    for (std::size_t below = 0; below <= i; ++below) {
      m_products[below] = product;
    }
    return;
  }
}

ArcImages arcImages(const fabric::Fabric& fabric, const ArcIndex& index, const Rotation& rotation, bool withSwitches) {
  ArcImages images;
  const auto nodes = fabric.nodes();
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const fabric::Node& from = nodes[node];
    const fabric::Node& to = nodes[rotation.image[node]];
    const bool canDoTheSame = from.multicast == to.multicast && from.aggregation == to.aggregation;
    if (to.kind != from.kind || to.rank != (from.rank < 0 ? -1 : shifted(from.rank, rotation, 1)) ||
        (withSwitches && !canDoTheSame)) {
      images.fault = "takes " + nodeName(fabric, static_cast<NodeIndex>(node)) + " to " +
                     nodeName(fabric, rotation.image[node]) + ", which is not its equal";
      return images;
    }
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    const NodeIndex tail = rotation.image[arc.tail];
    const NodeIndex head = rotation.image[arc.head];
    const std::int32_t image = index.find(tail, head);
    if (image == ArcIndex::kNone || fabric.arcs()[image].bandwidth != arc.bandwidth) {
      images.fault = "takes the link " + nodeName(fabric, arc.tail) + " -> " + nodeName(fabric, arc.head) + " to " +
                     nodeName(fabric, tail) + " -> " + nodeName(fabric, head) + ", where there is no equal link";
      return images;
    }
    images.imageOf.push_back(image);
  }
  return images;
}

void addImages(const Rotation& rotation, const ArcImages& images, std::vector<Int128>& loadOfArc) {
  std::vector<char> isDone(loadOfArc.size(), 0);
  std::vector<std::size_t> cycle;
  for (std::size_t first = 0; first < loadOfArc.size(); ++first) {
    cycle.clear();
    for (std::size_t arc = first; isDone[arc] == 0; arc = static_cast<std::size_t>(images.imageOf[arc])) {
      isDone[arc] = 1;
      cycle.push_back(arc);
    }
    Int128 sum = 0;
    for (const std::size_t arc : cycle) {
      sum += loadOfArc[arc];
    }
    for (const std::size_t arc : cycle) {
      loadOfArc[arc] = sum * (rotation.count / static_cast<int>(cycle.size()));
    }
  }
}

}  // namespace coppice::verify
