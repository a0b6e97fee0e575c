// SPDX-License-Identifier: Apache-2.0
#include "symmetry/groups.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace coppice::symmetry {

namespace {

/// Of some of the images; permutations that agree there are compared in full.
std::size_t hashOf(const Permutation& image) {
  constexpr std::size_t kSamples = 64;
  const std::size_t stride = std::max<std::size_t>(1, image.size() / kSamples);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < image.size(); i += stride) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    constexpr int kHalf = 32;
    hash = (hash ^ static_cast<std::uint64_t>(image[i])) * kOdd;
    hash ^= hash >> kHalf;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace

Permutation identity(int count) {
  Permutation image(static_cast<std::size_t>(count));
  std::iota(image.begin(), image.end(), 0);
  return image;
}

Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation image(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    image[i] = second[first[i]];
  }
  return image;
}

Permutation power(Permutation base, std::int64_t exponent) {
  Permutation result = identity(static_cast<int>(base.size()));
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) {
      result = composed(result, base);
    }
    base = composed(base, base);
  }
  return result;
}

std::vector<int> cycleLengths(const Permutation& image, std::span<const int> points) {
  std::vector<int> lengths;
  std::vector<char> isSeen(image.size(), 0);
  for (const int point : points) {
    int length = 0;
    for (int at = point; std::exchange(isSeen[at], char{1}) == 0; at = image[at]) {
      ++length;
    }
    if (length > 0) {
      lengths.push_back(length);
    }
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

std::optional<std::int64_t> commonMultiple(std::span<const int> lengths) {
  constexpr std::int64_t kMax = std::int64_t{1} << 32;
  std::int64_t all = 1;
  for (const int length : lengths) {
    all = std::lcm(all, std::int64_t{length});
    if (all > kMax) {
      return std::nullopt;
    }
  }
  return all;
}

std::optional<std::vector<Permutation>> closure(std::span<const Permutation> generators, std::size_t max) {
  if (generators.empty()) {
    return std::vector<Permutation>();
  }
  std::vector<Permutation> elements{identity(static_cast<int>(generators.front().size()))};
  std::unordered_multimap<std::size_t, std::size_t> known{{hashOf(elements.front()), 0}};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (const Permutation& generator : generators) {
      Permutation product = composed(elements[i], generator);
      const std::size_t hash = hashOf(product);
      const auto [first, last] = known.equal_range(hash);
      if (std::any_of(first, last, [&](const auto& each) { return elements[each.second] == product; })) {
        continue;
      }
      known.emplace(hash, elements.size());
      elements.push_back(std::move(product));
      if (elements.size() > max) {
        return std::nullopt;
      }
    }
  }
  return elements;
}

Lifting::Lifting(const ColouredDigraph& graph, std::span<const int> given)
    : m_graph(graph), m_given(given.begin(), given.end()), m_placeOf(graph.colourOf.size(), 0) {
  listLinks();
  measureLayers();
  // The first node of each degree in the first layer.
  std::set<std::size_t> degrees;
  for (const int node : m_order) {
    std::vector<int>& alike = m_alike[signatureOf(node, {})];
    m_placeOf[node] = static_cast<int>(alike.size());
    alike.push_back(node);
    if (m_layer[node] == 1 && degrees.insert(m_links[node].size()).second) {
      m_samples.push_back(node);
    }
  }
}

void Lifting::listLinks() {
  m_links.resize(m_graph.colourOf.size());
  for (const ColouredArc& arc : m_graph.arcs) {
    m_links[arc.tail].push_back({arc.head, arc.colour, -1});
    m_links[arc.head].push_back({arc.tail, -1, arc.colour});
  }
  for (std::vector<Link>& links : m_links) {
    std::sort(links.begin(), links.end());
    std::size_t kept = 0;
    for (const Link& link : links) {
      if (kept > 0 && links[kept - 1].node == link.node) {
        links[kept - 1].out = std::max(links[kept - 1].out, link.out);
        links[kept - 1].in = std::max(links[kept - 1].in, link.in);
      } else {
        links[kept++] = link;
      }
    }
    links.resize(kept);
  }
}

void Lifting::measureLayers() {
  m_layer.assign(m_links.size(), -1);
  std::vector<int> queue = m_given;
  for (const int node : queue) {
    m_layer[node] = 0;
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Link& link : m_links[queue[i]]) {
      if (m_layer[link.node] < 0) {
        m_layer[link.node] = m_layer[queue[i]] + 1;
        queue.push_back(link.node);
      }
    }
  }
  for (int node = 0; node < m_graph.nodeCount(); ++node) {
    if (m_layer[node] != 0) {
      m_order.push_back(node);
    }
  }
  std::stable_sort(m_order.begin(), m_order.end(), [this](int a, int b) { return m_layer[a] < m_layer[b]; });
}

Lifting::Signature Lifting::signatureOf(int node, std::span<const int> image) {
  m_scratch.clear();
  for (const Link& link : m_links[node]) {
    if (m_layer[link.node] < m_layer[node]) {
      m_scratch.push_back({image.empty() ? link.node : image[link.node], link.out, link.in});
    }
  }
  std::sort(m_scratch.begin(), m_scratch.end());
  Signature signature{m_layer[node], m_graph.colourOf[node]};
  signature.reserve(2 + 3 * m_scratch.size());
  for (const Link& link : m_scratch) {
    signature.insert(signature.end(), {link.node, link.out, link.in});
  }
  return signature;
}

std::optional<Permutation> Lifting::find(std::span<const int> images) {
  Permutation image(m_links.size(), -1);
  for (std::size_t i = 0; i < m_given.size(); ++i) {
    image[m_given[i]] = images[i];
  }
  for (const std::vector<int>* nodes : {&m_samples, &m_order}) {
    for (const int node : *nodes) {
      const auto alike = m_alike.find(signatureOf(node, image));
      if (alike == m_alike.end() || static_cast<std::size_t>(m_placeOf[node]) >= alike->second.size()) {
        return std::nullopt;
      }
      image[node] = alike->second[m_placeOf[node]];
    }
  }
  std::vector<char> isImage(image.size(), 0);
  for (const int node : image) {
    if (node < 0 || std::exchange(isImage[node], char{1}) != 0) {
      return std::nullopt;
    }
  }
  return isSymmetry(image) ? std::optional(std::move(image)) : std::nullopt;
}

bool Lifting::isSymmetry(const Permutation& image) const {
  std::vector<Link> moved;
  for (int node = 0; node < m_graph.nodeCount(); ++node) {
    if (m_graph.colourOf[node] != m_graph.colourOf[image[node]]) {
      return false;
    }
    moved = m_links[node];
    for (Link& link : moved) {
      link.node = image[link.node];
    }
    std::sort(moved.begin(), moved.end());
    if (moved != m_links[image[node]]) {
      return false;
    }
  }
  return true;
}

}  // namespace coppice::symmetry
