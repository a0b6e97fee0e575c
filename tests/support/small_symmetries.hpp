// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

/// Fabrics so small that all permutations of their nodes can be tried.
namespace coppice::test {

/// Whether some permutation of the nodes that keeps kinds, demands and links takes the nodes to the others, in order,
/// by trying all.
inline bool isImage(const fabric::Fabric& fabric, const std::vector<std::int64_t>& demand, const std::vector<int>& from,
                    const std::vector<int>& to) {
  const auto size = static_cast<std::size_t>(fabric.nodeCount());
  std::vector<std::vector<Rational>> links(size, std::vector<Rational>(size));
  for (const fabric::Arc& arc : fabric.arcs()) {
    links[arc.tail][arc.head] = arc.bandwidth.gigabytesPerSecond();
  }
  const auto demandOf = [&](std::size_t node) {
    const int rank = fabric.nodes()[node].rank;
    return rank < 0 ? std::int64_t{-1} : demand[rank];
  };
  std::vector<std::size_t> image(size);
  std::iota(image.begin(), image.end(), std::size_t{0});
  do {
    bool keeps = std::equal(from.begin(), from.end(), to.begin(),
                            [&](int a, int b) { return image[a] == static_cast<std::size_t>(b); });
    for (std::size_t a = 0; a < size && keeps; ++a) {
      keeps = demandOf(a) == demandOf(image[a]) && fabric.nodes()[a].kind == fabric.nodes()[image[a]].kind;
      for (std::size_t b = 0; b < size && keeps; ++b) {
        keeps = links[a][b] == links[image[a]][image[b]];
      }
    }
    if (keeps) {
      return true;
    }
  } while (std::next_permutation(image.begin(), image.end()));
  return false;
}

/// Two boxes of two GPUs and a switch, all on one more switch.
inline fabric::Description twoBoxes(const std::string& firstLink, const std::string& otherLink,
                                    const std::string& across) {
  fabric::Description description;
  description.name = "two boxes";
  description.nodes.push_back({.id = "net", .kind = "switch"});
  for (const std::string box : {"a", "b"}) {
    description.nodes.push_back({.id = box + "s", .kind = "switch", .box = box});
    for (const std::string gpu : {"0", "1"}) {
      description.nodes.push_back({.id = box + gpu, .kind = "gpu", .box = box});
      description.links.push_back(
          {.src = box + gpu, .dst = box + "s", .bandwidth = box == "a" ? firstLink : otherLink});
      description.links.push_back({.src = box + gpu, .dst = "net", .bandwidth = "2"});
    }
  }
  if (!across.empty()) {
    description.links.push_back({.src = "a0", .dst = "b1", .bandwidth = across});
  }
  return description;
}

}  // namespace coppice::test
