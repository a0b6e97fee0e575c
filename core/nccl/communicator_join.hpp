// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "nccl/log_facts.hpp"
#include "nccl/log_lines.hpp"
#include "nccl/run.hpp"

/// What the ranks of one communicator printed, put together.
namespace coppice::nccl {

/// Which connections an edge was printed with.
enum class Phase { open, ring, tree, other };

struct SeenEdge {
  EdgeLine line;
  Phase phase = Phase::open;
};

/// What one rank of one communicator printed.
struct Facts {
  std::vector<RingLine> rings;
  std::vector<HopLine> hops;
  std::vector<TreeEntry> trees;
  std::vector<SeenEdge> edges;
  std::vector<Choice> choices;
  std::vector<SearchLine> searches;
  std::vector<NvlsHeads> nvls;
  std::vector<int> collnetHeads;
  std::vector<TreeEntry> collnetChains;
  std::vector<Estimate> estimates;
  int channels = 0;
  std::size_t phaseBegin = 0;  ///< the first edge that no "Connected all" has followed
  bool hasAllRings = false;    ///< "Connected all rings"

  void append(Facts& other) {
    const auto move = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    const std::size_t before = edges.size();
    move(rings, other.rings);
    move(hops, other.hops);
    move(trees, other.trees);
    move(edges, other.edges);
    move(choices, other.choices);
    move(searches, other.searches);
    move(nvls, other.nvls);
    move(collnetHeads, other.collnetHeads);
    move(collnetChains, other.collnetChains);
    move(estimates, other.estimates);
    channels = std::max(channels, other.channels);
    phaseBegin = before + other.phaseBegin;
    hasAllRings = hasAllRings || other.hasAllRings;
    other = {};
  }
  /// What is printed only while a communicator is made.
  [[nodiscard]] bool hasSetup() const { return !rings.empty() || !hops.empty() || !trees.empty(); }
  [[nodiscard]] bool isEmpty() const {
    return rings.empty() && hops.empty() && trees.empty() && edges.empty() && choices.empty() && searches.empty() &&
           nvls.empty() && collnetHeads.empty() && collnetChains.empty() && estimates.empty();
  }
};

/// Rings, trees, edges, choices and searches of a communicator, from what its ranks printed. Rings come from whatever
/// there is: ring lines, hops, or the edges of all ranks. What is missing is said in made.missing.
/// @pre made.ranks is set
void joinFacts(Communicator& made, const std::vector<const Facts*>& facts);

}  // namespace coppice::nccl
