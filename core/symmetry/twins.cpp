// SPDX-License-Identifier: Apache-2.0
#include "symmetry/twins.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "symmetry/groups.hpp"

namespace coppice::symmetry {

Twins twinsOf(const ColouredDigraph& graph) {
  using Link = std::tuple<int, int, bool>;  // other end, colour, whether the arc leads there
  std::vector<std::vector<Link>> links(graph.colourOf.size());
  for (const ColouredArc& arc : graph.arcs) {
    links[arc.tail].emplace_back(arc.head, arc.colour, true);
    links[arc.head].emplace_back(arc.tail, arc.colour, false);
  }
  std::map<std::pair<int, std::vector<Link>>, std::vector<int>> alike;
  for (int node = 0; node < graph.nodeCount(); ++node) {
    std::ranges::sort(links[node]);
    alike[{graph.colourOf[node], std::move(links[node])}].push_back(node);
  }
  Twins twins;
  std::vector<std::size_t> sizeOf(graph.colourOf.size(), 0);  // of the class that the node is the first of
  for (auto& [key, nodes] : alike) {
    sizeOf[nodes.front()] = nodes.size();
    if (nodes.size() > 1) {
      twins.classes.push_back(std::move(nodes));
    }
  }
  std::ranges::sort(twins.classes);
  Numbering<std::pair<int, std::size_t>> colours;
  std::vector<int> numberOf(graph.colourOf.size(), -1);
  for (int node = 0; node < graph.nodeCount(); ++node) {
    if (sizeOf[node] > 0) {
      numberOf[node] = twins.contracted.nodeCount();
      twins.contracted.colourOf.push_back(colours({graph.colourOf[node], sizeOf[node]}));
      twins.nodeOf.push_back(node);
    }
  }
  for (const ColouredArc& arc : graph.arcs) {
    if (numberOf[arc.tail] >= 0 && numberOf[arc.head] >= 0) {
      twins.contracted.arcs.push_back({numberOf[arc.tail], numberOf[arc.head], arc.colour});
    }
  }
  return twins;
}

Permutation turned(const Twins& twins, std::size_t length, int nodeCount) {
  Permutation image = identity(nodeCount);
  for (const std::vector<int>& nodes : twins.classes) {
    for (std::size_t i = 0; i < nodes.size() - nodes.size() % length; ++i) {
      const std::size_t first = i - i % length;
      image[nodes[i]] = nodes[first + (i + 1 - first) % length];
    }
  }
  return image;
}

Permutation expanded(const Twins& twins, const Permutation& image, int nodeCount) {
  Permutation result = identity(nodeCount);
  for (std::size_t number = 0; number < twins.nodeOf.size(); ++number) {
    result[twins.nodeOf[number]] = twins.nodeOf[image[number]];
  }
  std::map<int, const std::vector<int>*> classOf;  // by first node
  for (const std::vector<int>& nodes : twins.classes) {
    classOf.emplace(nodes.front(), &nodes);
  }
  for (const auto& [first, nodes] : classOf) {
    const std::vector<int>& others = *classOf.at(result[first]);
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      result[(*nodes)[i]] = others[i];
    }
  }
  return result;
}

}  // namespace coppice::symmetry
