// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/cut_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"
#include "lp/cut_finder.hpp"
#include "symmetry/digraph.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr int kNoPart = -1;

std::vector<bool> gpuFlags(const TreeGraph& graph) {
  std::vector<bool> isGpu(static_cast<std::size_t>(graph.nodeCount), false);
  for (const int gpu : graph.gpus) {
    isGpu[gpu] = true;
  }
  return isGpu;
}

/// By node: the part of a GPU, and of a relay whose box has the GPUs of that part alone.
std::vector<int> partsOfNodes(const TreeGraph& graph, const std::vector<int>& partOf) {
  std::vector<int> parts(static_cast<std::size_t>(graph.nodeCount), kNoPart);
  std::map<std::string, int> partOfBox;
  for (std::size_t rank = 0; rank < graph.gpus.size(); ++rank) {
    const int gpu = graph.gpus[rank];
    parts[gpu] = partOf[rank];
    const auto [box, isNew] = partOfBox.try_emplace(graph.boxOf[gpu], partOf[rank]);
    if (!isNew && box->second != partOf[rank]) {
      box->second = kNoPart;
    }
  }
  const std::vector<bool> isGpu = gpuFlags(graph);
  for (int node = 0; node < graph.nodeCount; ++node) {
    const auto box = partOfBox.find(graph.boxOf[node]);
    if (!isGpu[node] && !graph.boxOf[node].empty() && box != partOfBox.end()) {
      parts[node] = box->second;
    }
  }
  return parts;
}

/// A group of relays of no part that are linked to each other.
struct FreeRelays {
  bool isPlain = true;  ///< none of them copies or sums
  Bandwidth entering;   ///< over links from the parts
  Bandwidth leaving;    ///< over links to the parts
};

}  // namespace

TreeBound partitionBound(const TreeGraph& graph, const TreeDemand& demand, const std::vector<int>& partOf) {
  const int count = *std::max_element(partOf.begin(), partOf.end()) + 1;
  const std::vector<int> parts = partsOfNodes(graph, partOf);
  const std::vector<bool> copies = branching(graph, demand, false);
  const std::vector<bool> sums = branching(graph, demand, true);
  DisjointSets groups(static_cast<std::size_t>(graph.nodeCount));
  for (const lp::RateArc& arc : graph.arcs) {
    if (parts[arc.tail] == kNoPart && parts[arc.head] == kNoPart && arc.bandwidth.isPositive()) {
      groups.join(arc.tail, arc.head);
    }
  }
  std::map<int, FreeRelays> free;
  for (int node = 0; node < graph.nodeCount; ++node) {
    if (parts[node] == kNoPart && (copies[node] || sums[node])) {
      free[groups.find(node)].isPlain = false;
    }
  }
  for (const lp::RateArc& arc : graph.arcs) {
    if (parts[arc.head] == kNoPart && parts[arc.tail] != kNoPart) {
      FreeRelays& group = free[groups.find(arc.head)];
      group.entering = group.entering + arc.bandwidth;
    } else if (parts[arc.tail] == kNoPart && parts[arc.head] != kNoPart) {
      FreeRelays& group = free[groups.find(arc.tail)];
      group.leaving = group.leaving + arc.bandwidth;
    }
  }
  const Rational weight(1, checkedMul<int64_t>(2, count - 1));
  TreeBound bound;
  bound.status = lp::BoundStatus::upperBound;
  bound.reason = "a bound by the parts of the fabric; whether it can be reached is unknown";
  schedule::TreeBoundProof proof;
  for (const lp::RateArc& arc : graph.arcs) {
    const int from = parts[arc.tail];
    const int to = parts[arc.head];
    bool counts = from != to;
    if (counts && (from == kNoPart || to == kNoPart)) {
      const FreeRelays& group = free[groups.find(from == kNoPart ? arc.tail : arc.head)];
      const bool usesEntering = group.entering < group.leaving;
      counts = !group.isPlain || (to == kNoPart) == usesEntering;
    }
    proof.linkPrice.push_back(counts ? weight : Rational());
    if (counts) {
      bound.algbw = bound.algbw + arc.bandwidth * weight;
    }
  }
  // A plain relay that is entered at a price hands it on: what out-trees pay there counts where they leave for a part.
  proof.outPotential.assign(static_cast<std::size_t>(graph.nodeCount), Rational());
  proof.inPotential = proof.outPotential;
  for (int node = 0; node < graph.nodeCount; ++node) {
    if (parts[node] == kNoPart) {
      const FreeRelays& group = free[groups.find(node)];
      if (group.isPlain) {
        const bool usesEntering = group.entering < group.leaving;
        (usesEntering ? proof.outPotential : proof.inPotential)[node] = Rational() - weight;
      }
    }
  }
  std::vector<std::vector<fabric::NodeIndex>> members(static_cast<std::size_t>(count));
  for (int node = 0; node < graph.nodeCount; ++node) {
    if (parts[node] != kNoPart) {
      members[parts[node]].push_back(node);
    }
  }
  for (std::vector<fabric::NodeIndex>& nodes : members) {
    proof.cuts.push_back({nodes, schedule::Direction::out, weight});
    proof.cuts.push_back({std::move(nodes), schedule::Direction::in, weight});
  }
  proof.bound = bound.algbw;
  bound.proof = std::move(proof);
  return bound;
}

TreeBound partitionBound(const TreeGraph& graph, const TreeDemand& demand) {
  std::vector<int> single;
  std::vector<int> boxes;
  symmetry::Numbering<std::string> numbers;
  for (std::size_t rank = 0; rank < graph.gpus.size(); ++rank) {
    const std::string& box = graph.boxOf[graph.gpus[rank]];
    single.push_back(static_cast<int>(rank));
    boxes.push_back(numbers(box.empty() ? "\n" + std::to_string(rank) : box));
  }
  TreeBound best = partitionBound(graph, demand, single);
  const int boxCount = *std::max_element(boxes.begin(), boxes.end()) + 1;
  if (boxCount > 1 && boxCount < static_cast<int>(graph.gpus.size())) {
    if (TreeBound other = partitionBound(graph, demand, boxes); other.algbw < best.algbw) {
      best = std::move(other);
    }
  }
  return best;
}

TreeBound leastCutBound(const TreeGraph& graph, const Progress& progress) {
  const std::vector<bool> isGpu = gpuFlags(graph);
  int64_t unit = 1;
  for (const lp::RateArc& arc : graph.arcs) {
    unit = leastCommonMultiple(unit, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  std::vector<int64_t> capacities;
  for (const lp::RateArc& arc : graph.arcs) {
    const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
    capacities.push_back(checkedMul(bandwidth.numerator(), unit / bandwidth.denominator()));
  }
  // Sets without the first GPU, by what enters them and by what leaves them, are all there are.
  const int first = graph.gpus.front();
  std::optional<int64_t> least;
  lp::NodeSet entered;
  for (const bool isReversed : {false, true}) {
    std::vector<lp::ArcEnds> ends;
    for (const lp::RateArc& arc : graph.arcs) {
      ends.push_back(isReversed ? lp::ArcEnds{arc.head, arc.tail} : lp::ArcEnds{arc.tail, arc.head});
    }
    const auto take = [&](lp::NodeSet set, int64_t value) {
      if (!least || value < *least) {
        if (isReversed) {
          set.flip();
        }
        least = value;
        entered = std::move(set);
      }
    };
    for (const int gpu : graph.gpus) {
      if (gpu != first) {
        lp::NodeSet alone(isGpu.size(), false);
        alone[gpu] = true;
        const int64_t value = lp::entering(ends, capacities, alone);
        take(std::move(alone), value);
      }
    }
    std::vector<bool> sinks = isGpu;
    sinks[first] = false;
    lp::CutFinder finder(graph.nodeCount, sinks, ends);
    std::vector<int64_t> supplies(isGpu.size(), 0);
    for (;;) {
      progress.report("least cut", 0.0);
      supplies[first] = *least;
      std::vector<lp::NodeSet> smaller = finder.violated(capacities, supplies, 0, true, progress);
      if (smaller.empty()) {
        break;
      }
      const int64_t value = lp::entering(ends, capacities, smaller.front());
      take(std::move(smaller.front()), value);
    }
  }
  TreeBound bound;
  bound.status = lp::BoundStatus::upperBound;
  bound.reason = "the least cut between GPUs; whether it can be reached is unknown";
  bound.algbw = Bandwidth(*least, unit);
  schedule::TreeBoundProof proof;
  proof.bound = bound.algbw;
  for (const lp::RateArc& arc : graph.arcs) {
    proof.linkPrice.emplace_back(entered[arc.head] && !entered[arc.tail] ? 1 : 0);
  }
  schedule::WeightedCut inside{{}, schedule::Direction::out, Rational(1)};
  schedule::WeightedCut outside{{}, schedule::Direction::in, Rational(1)};
  for (int node = 0; node < graph.nodeCount; ++node) {
    (entered[node] ? inside : outside).nodes.push_back(node);
  }
  proof.cuts = {std::move(inside), std::move(outside)};
  proof.outPotential.assign(isGpu.size(), Rational());
  proof.inPotential = proof.outPotential;
  bound.proof = std::move(proof);
  return bound;
}

}  // namespace coppice::forestcoll
