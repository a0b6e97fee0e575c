// SPDX-License-Identifier: Apache-2.0
#include "live/equal_parts.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "fabric/box_path.hpp"

namespace coppice::live {
namespace {

using std::int64_t;

std::uint64_t hashOf(const std::vector<int64_t>& words) {
  std::uint64_t hash = words.size();
  for (const int64_t word : words) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Parts of one layer as they are found.
class PartNumbers {
public:
  explicit PartNumbers(int nodeCount) : partOf(static_cast<std::size_t>(nodeCount), -1) {}
  template <typename Key>
  static int numberOf(std::unordered_map<Key, int>& numbers, const Key& key) {
    return numbers.try_emplace(key, static_cast<int>(numbers.size())).first->second;
  }
  void put(int node, int part) {
    if (part >= static_cast<int>(nodes.size())) {
      nodes.resize(static_cast<std::size_t>(part) + 1);
    }
    partOf[node] = part;
    nodes[part].push_back(node);
  }

  std::vector<int> partOf;
  std::vector<std::vector<int>> nodes;
};

/// Switches in no box with what hangs on each of them alone: first with outermost boxes and GPUs in no box, then with
/// groups found before.
class Groups {
public:
  Groups(const forestcoll::Network& network, std::span<const std::string_view> boxes) : m_network(network) {
    std::unordered_map<std::string_view, int> number;
    m_unitOf.reserve(boxes.size());
    for (int node = 0; node < network.nodeCount; ++node) {
      const std::string_view box = fabric::boxAtLevel(boxes[node], 1);
      if (!box.empty()) {
        const auto [found, isNew] = number.emplace(box, m_unitCount);
        m_unitCount += isNew ? 1 : 0;
        m_unitOf.push_back(found->second);
      } else {
        m_unitOf.push_back(network.isGpu[node] != 0 ? m_unitCount++ : -1);
      }
    }
  }

  PartNumbers next() {
    const std::vector<int> hubOf = hubs();
    std::unordered_map<int, int> groupAt;  // by hub
    std::vector<int> groupOf(hubOf.size(), -1);
    for (std::size_t unit = 0; unit < hubOf.size(); ++unit) {
      if (hubOf[unit] >= 0) {
        groupOf[unit] = PartNumbers::numberOf(groupAt, hubOf[unit]);
      }
    }
    PartNumbers groups(m_network.nodeCount);
    std::vector<int> numberOf(hubOf.size(), -1);  // of units that are in no group
    m_unitCount = static_cast<int>(groupAt.size());
    for (int node = 0; node < m_network.nodeCount; ++node) {
      int& unit = m_unitOf[node];
      const auto asHub = unit < 0 ? groupAt.find(node) : groupAt.end();
      const int group = asHub != groupAt.end() ? asHub->second : unit >= 0 ? groupOf[unit] : -1;
      if (group >= 0) {
        groups.put(node, group);
        unit = group;
      } else if (unit >= 0) {
        int& number = numberOf[unit];
        number = number < 0 ? m_unitCount++ : number;
        unit = number;
      }
    }
    return groups;
  }

private:
  /// By unit the one node outside that its arcs lead to, where that is a switch in no unit; else -1.
  [[nodiscard]] std::vector<int> hubs() const {
    constexpr int kNone = -1;
    constexpr int kSeveral = -2;
    std::vector<int> hubOf(m_unitCount, kNone);
    const auto note = [&](int node, int other) {
      if (m_unitOf[node] >= 0 && m_unitOf[node] != m_unitOf[other]) {
        int& hub = hubOf[m_unitOf[node]];
        hub = m_unitOf[other] < 0 && (hub == kNone || hub == other) ? other : kSeveral;
      }
    };
    for (const forestcoll::TreeArc& arc : m_network.arcs) {
      note(arc.tail, arc.head);
      note(arc.head, arc.tail);
    }
    return hubOf;
  }

  const forestcoll::Network& m_network;
  std::vector<int> m_unitOf;  // by node: its group, or outermost box, or itself; -1 at other switches
  int m_unitCount = 0;
};

}  // namespace

EqualParts::EqualParts(const forestcoll::Network& network, std::span<const std::string_view> boxes,
                       std::span<const char> colours)
    : m_arcs(network.arcs), m_demand(network.demand) {
  const auto n = static_cast<std::size_t>(network.nodeCount);
  m_colour.reserve(n);
  for (std::size_t v = 0; v < n; ++v) {
    m_colour.push_back(2 * int64_t{colours.empty() ? char{0} : colours[v]} + (network.isGpu[v] != 0 ? 1 : 0));
  }
  m_outArcs = numbersByRow<int>(n, m_arcs, &forestcoll::TreeArc::tail);
  m_inArcs = numbersByRow<int>(n, m_arcs, &forestcoll::TreeArc::head);

  constexpr int kMaxLevels = 8;
  for (int level = 1; level <= kMaxLevels; ++level) {
    std::unordered_map<std::string_view, int> number;
    PartNumbers parts(network.nodeCount);
    for (int node = 0; node < network.nodeCount; ++node) {
      if (const std::string_view box = fabric::boxAtLevel(boxes[node], level); !box.empty()) {
        parts.put(node, PartNumbers::numberOf(number, box));
      }
    }
    if (!addLayer({std::move(parts.partOf), std::move(parts.nodes), {}})) {
      break;
    }
  }
  Groups groups(network, boxes);
  for (int level = 1; level <= kMaxLevels; ++level) {
    PartNumbers parts = groups.next();
    if (!addLayer({std::move(parts.partOf), std::move(parts.nodes), {}})) {
      break;
    }
  }
}

template <typename Use>
void EqualParts::forEachArc(const Layer& layer, int node, bool isOut, bool isInside, Use&& use) const {
  const auto v = static_cast<std::size_t>(node);
  const int part = layer.partOf[v];
  for (const int arc : isOut ? m_outArcs[v] : m_inArcs[v]) {
    const int other = isOut ? m_arcs[arc].head : m_arcs[arc].tail;
    if ((layer.partOf[other] == part) == isInside) {
      use(arc, other);
    }
  }
}

/// Finds its classes; false where it has no parts.
bool EqualParts::addLayer(Layer layer) {
  if (layer.nodes.size() > 1) {
    // Nodes of a part are ascending, and so are their places in it.
    std::vector<int> place(layer.partOf.size(), 0);
    for (const std::vector<int>& nodes : layer.nodes) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        place[nodes[i]] = static_cast<int>(i);
      }
    }
    struct Known {
      std::vector<int64_t> signature;
      std::vector<int> parts;
    };
    std::vector<Known> known;
    std::unordered_multimap<std::uint64_t, std::size_t> byHash;
    std::vector<int64_t> signature;
    for (std::size_t part = 0; part < layer.nodes.size(); ++part) {
      signature.clear();
      for (const int node : layer.nodes[part]) {
        signature.push_back(m_colour[node]);
        signature.push_back(m_demand[node]);
        for (const bool isOut : {true, false}) {
          for (const bool isInside : {true, false}) {
            const std::size_t count = signature.size();
            signature.push_back(0);
            forEachArc(layer, node, isOut, isInside, [&](int arc, int other) {
              signature.push_back(isInside ? place[other] : other);
              signature.push_back(m_arcs[arc].capacity);
            });
            signature[count] = static_cast<int64_t>(signature.size() - count);
          }
        }
      }
      const std::uint64_t hash = hashOf(signature);
      const auto [first, last] = byHash.equal_range(hash);
      const auto same =
          std::find_if(first, last, [&](const auto& entry) { return known[entry.second].signature == signature; });
      if (same != last) {
        known[same->second].parts.push_back(static_cast<int>(part));
      } else {
        byHash.emplace(hash, known.size());
        known.push_back({signature, {static_cast<int>(part)}});
      }
    }
    for (Known& each : known) {
      if (each.parts.size() > 1) {
        layer.classes.push_back(std::move(each.parts));
      }
    }
  }
  const bool hasParts = !layer.nodes.empty();
  if (hasParts) {
    m_layers.push_back(std::move(layer));
  }
  return hasParts;
}

std::vector<int> EqualParts::nodeClasses(std::span<const int> fixed) const {
  DisjointSets sets(m_colour.size());
  for (const Layer& layer : m_layers) {
    std::vector<char> isFixed(layer.nodes.size(), 0);
    for (const int node : fixed) {
      if (layer.partOf[node] >= 0) {
        isFixed[layer.partOf[node]] = 1;
      }
    }
    for (const std::vector<int>& parts : layer.classes) {
      const std::vector<int>* first = nullptr;
      for (const int part : parts) {
        if (isFixed[part] != 0) {
          continue;
        }
        const std::vector<int>& nodes = layer.nodes[part];
        for (std::size_t i = 0; i < nodes.size() && first != nullptr; ++i) {
          sets.join((*first)[i], nodes[i]);
        }
        first = first == nullptr ? &nodes : first;
      }
    }
  }
  std::vector<int> classes(m_colour.size());
  for (std::size_t node = 0; node < classes.size(); ++node) {
    classes[node] = sets.find(static_cast<int>(node));
  }
  return classes;
}

std::vector<int> EqualParts::arcClasses() const {
  DisjointSets sets(m_arcs.size());
  const auto listOf = [&](const Layer& layer, int node) {
    std::vector<int> arcs;
    for (const bool isOut : {true, false}) {
      for (const bool isInside : {true, false}) {
        forEachArc(layer, node, isOut, isInside, [&](int arc, int) { arcs.push_back(arc); });
      }
    }
    return arcs;
  };
  for (const Layer& layer : m_layers) {
    for (const std::vector<int>& parts : layer.classes) {
      const std::vector<int>& first = layer.nodes[parts.front()];
      for (std::size_t i = 0; i < first.size(); ++i) {
        const std::vector<int> arcs = listOf(layer, first[i]);
        for (std::size_t other = 1; other < parts.size(); ++other) {
          const std::vector<int> images = listOf(layer, layer.nodes[parts[other]][i]);
          for (std::size_t k = 0; k < arcs.size(); ++k) {
            sets.join(arcs[k], images[k]);
          }
        }
      }
    }
  }
  std::vector<int> classes(m_arcs.size());
  for (std::size_t arc = 0; arc < classes.size(); ++arc) {
    classes[arc] = sets.find(static_cast<int>(arc));
  }
  return classes;
}

}  // namespace coppice::live
