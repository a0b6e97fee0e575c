// SPDX-License-Identifier: Apache-2.0
#include "schedule/rotation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "schedule/arc_finder.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

/// Finds where nodes go under a rotation of the ranks.
class ImageSearch {
public:
  explicit ImageSearch(const fabric::Fabric& fabric) : m_fabric(fabric) {
    numberLinks();
    measureLayers();
    for (std::size_t i = 0; i < m_order.size(); ++i) {
      const NodeIndex node = m_order[i];
      std::vector<NodeIndex>& alike = m_alike[signatureOf(node, {})];
      m_placeOf[node] = static_cast<int>(alike.size());
      alike.push_back(node);
    }
    // A node of each layer and degree that shows early whether a rotation fails.
    std::map<std::pair<int, std::size_t>, NodeIndex> sample;
    for (const NodeIndex node : m_order) {
      sample.try_emplace({m_layer[node], m_nearer[node].size()}, node);
    }
    for (const auto& [key, node] : sample) {
      if (key.first == 1) {
        m_samples.push_back(node);
      }
    }
  }

  std::optional<Rotation> find(int step, int count) {
    Rotation rotation{step, count, std::vector<NodeIndex>(static_cast<std::size_t>(m_fabric.nodeCount()), -1)};
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      rotation.image[m_fabric.gpus()[rank]] = m_fabric.gpus()[rotated(rank, rotation)];
    }
    for (const std::vector<NodeIndex>* nodes : {&m_samples, &m_order}) {
      for (const NodeIndex node : *nodes) {
        const auto alike = m_alike.find(signatureOf(node, rotation.image));
        if (alike == m_alike.end() || static_cast<std::size_t>(m_placeOf[node]) >= alike->second.size()) {
          return std::nullopt;
        }
        rotation.image[node] = alike->second[m_placeOf[node]];
      }
    }
    std::vector<bool> isImage(rotation.image.size(), false);
    for (const NodeIndex image : rotation.image) {
      if (image < 0 || isImage[image]) {
        return std::nullopt;
      }
      isImage[image] = true;
    }
    if (symmetryFault(m_fabric, rotation)) {
      return std::nullopt;
    }
    return rotation;
  }

private:
  using Link = std::tuple<NodeIndex, int, int>;  ///< the other end, class of the arc out, class of the arc in
  using Signature = std::vector<int>;

  /// Arcs of the same bandwidth have the same number, from 1 on.
  void numberLinks() {
    std::map<std::pair<std::int64_t, std::int64_t>, int> classes;
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
      const auto next = static_cast<int>(classes.size()) + 1;
      m_classOfArc.push_back(classes.try_emplace({bandwidth.numerator(), bandwidth.denominator()}, next).first->second);
    }
  }

  /// Hops from the nearest GPU, and by node its links to nodes nearer to the GPUs.
  void measureLayers() {
    const auto nodeCount = static_cast<std::size_t>(m_fabric.nodeCount());
    const auto arcs = m_fabric.arcs();
    std::vector<std::vector<std::pair<NodeIndex, int>>> ends(nodeCount);  // the other end; class out, or -class in
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      ends[arcs[i].tail].emplace_back(arcs[i].head, m_classOfArc[i]);
      ends[arcs[i].head].emplace_back(arcs[i].tail, -m_classOfArc[i]);
    }
    m_layer.assign(nodeCount, -1);
    m_nearer.resize(nodeCount);
    m_placeOf.assign(nodeCount, 0);
    std::vector<NodeIndex> queue(m_fabric.gpus().begin(), m_fabric.gpus().end());
    for (const NodeIndex gpu : queue) {
      m_layer[gpu] = 0;
    }
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto& [next, link] : ends[queue[i]]) {
        if (m_layer[next] < 0) {
          m_layer[next] = m_layer[queue[i]] + 1;
          queue.push_back(next);
        }
      }
    }
    for (std::size_t node = 0; node < nodeCount; ++node) {
      std::map<NodeIndex, std::pair<int, int>> links;
      for (const auto& [next, link] : ends[node]) {
        if (m_layer[next] < m_layer[node]) {
          (link > 0 ? links[next].first : links[next].second) = std::abs(link);
        }
      }
      for (const auto& [next, classes] : links) {
        m_nearer[node].emplace_back(next, classes.first, classes.second);
      }
      if (m_layer[node] > 0) {
        m_order.push_back(static_cast<NodeIndex>(node));
      }
    }
    std::stable_sort(m_order.begin(), m_order.end(), [&](NodeIndex a, NodeIndex b) { return m_layer[a] < m_layer[b]; });
  }

  /// Layer, kind and links to nearer nodes, these as `image` has them (empty: as they are).
  Signature signatureOf(NodeIndex node, const std::vector<NodeIndex>& image) {
    m_links = m_nearer[node];
    for (auto& [next, out, in] : m_links) {
      next = image.empty() ? next : image[next];
    }
    std::sort(m_links.begin(), m_links.end());
    Signature signature{m_layer[node], static_cast<int>(m_fabric.nodes()[node].kind)};
    signature.reserve(2 + 3 * m_links.size());
    for (const auto& [next, out, in] : m_links) {
      signature.insert(signature.end(), {next, out, in});
    }
    return signature;
  }

  const fabric::Fabric& m_fabric;
  std::vector<int> m_classOfArc;
  std::vector<int> m_layer;
  std::vector<std::vector<Link>> m_nearer;
  std::vector<NodeIndex> m_order;  ///< all but GPUs, by layer
  std::vector<int> m_placeOf;      ///< by node: among those with its signature
  std::map<Signature, std::vector<NodeIndex>> m_alike;
  std::vector<NodeIndex> m_samples;
  std::vector<Link> m_links;
};

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
  return ImageSearch(fabric).find(step, count);
}

std::vector<Rotation> rotationsOf(const fabric::Fabric& fabric) {
  ImageSearch search(fabric);
  std::vector<Rotation> rotations;
  for (int step = 1; step < fabric.gpuCount();) {
    const int max = fabric.gpuCount() / step;
    std::optional<Rotation> found;
    for (int count = max; count >= 2 && !found; --count) {
      if (max % count == 0) {
        found = search.find(step, count);
      }
    }
    if (!found) {
      return {};
    }
    step *= found->count;
    rotations.push_back(*std::move(found));
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
