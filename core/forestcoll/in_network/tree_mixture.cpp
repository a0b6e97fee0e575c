// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/tree_mixture.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "forestcoll/in_network/cut_bound.hpp"
#include "forestcoll/in_network/spanning_packing.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/groups.hpp"
#include "symmetry/orbits.hpp"
#include "symmetry/set_orbit.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

using Kind = std::vector<bool>;  ///< by node: relays that are reached

constexpr int64_t kSymmetryWork = int64_t{1} << 24;

bool isEmpty(const Kind& kind) {
  return std::find(kind.begin(), kind.end(), true) == kind.end();
}

std::vector<int64_t> amountsOf(const TreeGraph& graph, const TreeDemand& demand) {
  if (demand.collective == Collective::allreduce) {
    return {};
  }
  return demand.amounts.empty() ? std::vector<int64_t>(graph.gpus.size(), 1) : demand.amounts;
}

/// By arc: GPUs get their own copies along it and its reverse (Schedule::ownCopies).
std::vector<bool> ownCopyArcs(const TreeGraph& graph, const TreeDemand& demand) {
  std::vector<bool> arcs;
  if (demand.ownCopies) {
    std::vector<bool> isGpu(static_cast<std::size_t>(graph.nodeCount), false);
    for (const int gpu : graph.gpus) {
      isGpu[gpu] = true;
    }
    for (const lp::RateArc& arc : graph.arcs) {
      arcs.push_back(isGpu[arc.tail] != isGpu[arc.head] && graph.boxOf[arc.tail] == graph.boxOf[arc.head]);
    }
  }
  return arcs;
}

/// What symmetries keep: bandwidths, capabilities, amounts and own copies.
symmetry::ColouredDigraph colouredOf(const TreeGraph& graph, const TreeDemand& demand) {
  const std::vector<int64_t> amounts = amountsOf(graph, demand);
  std::vector<int64_t> amountAt(static_cast<std::size_t>(graph.nodeCount), -1);
  for (std::size_t rank = 0; rank < graph.gpus.size(); ++rank) {
    amountAt[graph.gpus[rank]] = amounts.empty() ? 0 : amounts[rank];
  }
  const Kind copies = branching(graph, demand, false);
  const Kind sums = branching(graph, demand, true);
  symmetry::ColouredDigraph coloured;
  symmetry::Numbering<std::tuple<int, int64_t, bool, bool>> colours;
  for (int node = 0; node < graph.nodeCount; ++node) {
    coloured.colourOf.push_back(colours({graph.kindOf[node], amountAt[node], copies[node], sums[node]}));
  }
  symmetry::Numbering<std::pair<Bandwidth, bool>> arcColours;
  const std::vector<bool> own = ownCopyArcs(graph, demand);
  for (std::size_t i = 0; i < graph.arcs.size(); ++i) {
    const lp::RateArc& arc = graph.arcs[i];
    coloured.arcs.push_back({arc.tail, arc.head, arcColours({arc.bandwidth, !own.empty() && own[i]})});
  }
  return coloured;
}

symmetry::Orbits orbitsOf(const TreeGraph& graph, const symmetry::ColouredDigraph& coloured, const Progress& progress) {
  std::vector<bool> isGpu(static_cast<std::size_t>(graph.nodeCount), false);
  for (const int gpu : graph.gpus) {
    isGpu[gpu] = true;
  }
  const std::vector<std::string_view> boxes(graph.boxOf.begin(), graph.boxOf.end());
  return symmetry::orbitsOf(coloured, symmetry::candidateParts(coloured, boxes, isGpu), kSymmetryWork, progress, true);
}

lp::TreeProblem problemOf(const TreeGraph& graph, const TreeDemand& demand, const symmetry::Orbits& orbits) {
  lp::TreeProblem problem;
  problem.nodeCount = graph.nodeCount;
  problem.gpus = graph.gpus;
  problem.arcs = graph.arcs;
  problem.amounts = amountsOf(graph, demand);
  problem.isMirrored = isMirrored(graph, demand);
  problem.nodeOrbit = orbits.ofNode;
  problem.arcOrbit = orbits.ofArc;
  return problem;
}

bool hasDirection(const TreeDemand& demand, bool isIn) {
  return demand.collective == Collective::allreduce || isIn == (demand.collective == Collective::reduceScatter);
}

TreeMixture mixtureOf(const lp::TreeProblem& problem, const lp::TreeRates& rates,
                      const std::vector<std::vector<symmetry::Permutation>>& images) {
  TreeMixture mixture;
  mixture.algbw = rates.rate;
  mixture.denominator = rates.denominator;
  mixture.isMirrored = problem.isMirrored;
  for (std::size_t i = 0; i < problem.layers.size(); ++i) {
    const auto& roots = rates.layers[i].roots;
    if (std::any_of(roots.begin(), roots.end(), [](int64_t share) { return share > 0; })) {
      mixture.kinds.push_back(
          {problem.layers[i].isIn, problem.layers[i].reaches, roots, rates.layers[i].bandwidths, images[i]});
    }
  }
  return mixture;
}

schedule::TreeBoundProof proofOf(const lp::TreeRates& rates, symmetry::Orbits&& orbits) {
  schedule::TreeBoundProof proof;
  proof.bound = rates.rate;
  proof.linkPrice = rates.dual->linkPrice;
  proof.outPotential = rates.dual->outPotential;
  proof.inPotential = rates.dual->inPotential;
  for (const lp::TreeDual::Cut& cut : rates.dual->cuts) {
    schedule::WeightedCut weighted;
    weighted.direction = cut.isIn ? schedule::Direction::in : schedule::Direction::out;
    weighted.weight = cut.weight;
    for (std::size_t node = 0; node < cut.nodes.size(); ++node) {
      if (cut.nodes[node]) {
        weighted.nodes.push_back(static_cast<fabric::NodeIndex>(node));
      }
    }
    proof.cuts.push_back(std::move(weighted));
  }
  for (const auto& moves : orbits.generators) {
    schedule::NodeMoves symmetry;
    for (const auto& [from, to] : moves) {
      symmetry.push_back({from, to});
    }
    proof.symmetries.push_back(std::move(symmetry));
  }
  return proof;
}

/// The links of a fabric without relays, both directions as one edge, in 1 / unit GB/s; nullopt where there are relays.
std::optional<std::vector<WeightedEdge>> edgesWithoutRelays(const TreeGraph& graph, int64_t& unit) {
  std::vector<bool> isGpu(static_cast<std::size_t>(graph.nodeCount), false);
  for (const int gpu : graph.gpus) {
    isGpu[gpu] = true;
  }
  unit = 1;
  for (const lp::RateArc& arc : graph.arcs) {
    if (arc.bandwidth.isPositive() && !(isGpu[arc.tail] && isGpu[arc.head])) {
      return std::nullopt;
    }
    unit = leastCommonMultiple(unit, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  std::vector<WeightedEdge> edges;
  for (const lp::RateArc& arc : graph.arcs) {
    if (arc.tail < arc.head && arc.bandwidth.isPositive()) {
      const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
      edges.push_back({arc.tail, arc.head, checkedMul(bandwidth.numerator(), unit / bandwidth.denominator())});
    }
  }
  return edges;
}

/// The bound and trees that reach it, of an allreduce on GPUs alone whose links do the same both ways. nullopt
/// elsewhere, and where the budget of work is spent.
std::optional<TreeBound> boundWithoutRelays(const TreeGraph& graph, const TreeDemand& demand,
                                            const Progress& progress) {
  if (!isMirrored(graph, demand)) {
    return std::nullopt;
  }
  int64_t unit = 1;
  const auto edges = edgesWithoutRelays(graph, unit);
  if (!edges) {
    return std::nullopt;
  }
  const std::vector<int>& gpuAt = graph.gpus;  // other nodes have no links
  std::vector<int> numberOf(static_cast<std::size_t>(graph.nodeCount), 0);
  for (std::size_t i = 0; i < gpuAt.size(); ++i) {
    numberOf[gpuAt[i]] = static_cast<int>(i);
  }
  std::vector<WeightedEdge> numbered = *edges;
  std::map<std::pair<int, int>, std::size_t> edgeOf;
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    edgeOf.emplace(std::pair(numbered[i].a, numbered[i].b), i);
    numbered[i].a = numberOf[numbered[i].a];
    numbered[i].b = numberOf[numbered[i].b];
  }
  const auto packing = spanningPacking(static_cast<int>(gpuAt.size()), numbered, demand.budget, progress);
  if (!packing) {
    return std::nullopt;
  }
  // Every part is a cut of out-trees and of in-trees: no trees are faster.
  TreeBound bound = partitionBound(graph, demand, packing->partOf);
  bound.status = lp::BoundStatus::exact;
  bound.reason.clear();
  const int64_t denominator = checkedMul<int64_t>(unit, packing->parts - 1);
  TreeShare share;
  share.reaches.assign(static_cast<std::size_t>(graph.nodeCount), false);
  share.roots.assign(gpuAt.size(), 0);
  share.roots[packing->root] = packing->cross;
  for (const lp::RateArc& arc : graph.arcs) {
    const auto edge = edgeOf.find(std::minmax(arc.tail, arc.head));
    share.bandwidths.push_back(edge == edgeOf.end()  ? 0
                               : arc.tail < arc.head ? packing->forward[edge->second]
                                                     : packing->backward[edge->second]);
  }
  share.images = {symmetry::identity(graph.nodeCount)};
  bound.mixture = {bound.algbw, denominator, true, {std::move(share)}};
  return bound;
}

/// Whether some relay may branch in trees of the demand.
bool hasBranching(const TreeGraph& graph, const TreeDemand& demand) {
  return (hasDirection(demand, false) && !isEmpty(branching(graph, demand, false))) ||
         (hasDirection(demand, true) && !isEmpty(branching(graph, demand, true)));
}

/// The bound by the linear program, and trees that reach it where no switch is capable.
TreeBound boundByProgram(const TreeGraph& graph, const TreeDemand& demand, const std::optional<Bandwidth>& known,
                         const Progress& progress) {
  symmetry::Orbits orbits = orbitsOf(graph, colouredOf(graph, demand), progress);
  lp::TreeProblem problem = problemOf(graph, demand, orbits);
  for (const bool isIn : {false, true}) {
    if (hasDirection(demand, isIn) && !(isIn && problem.isMirrored)) {
      problem.layers.push_back(
          {isIn, Kind(static_cast<std::size_t>(graph.nodeCount), false), branching(graph, demand, isIn)});
    }
  }
  const lp::TreeRates rates = orThrow(lp::solveTreeProgram(problem, {known, demand.budget}, progress));
  TreeBound bound;
  bound.status = rates.status;
  bound.algbw = rates.rate;
  bound.reason = rates.reason;
  if (rates.dual) {
    bound.proof = proofOf(rates, std::move(orbits));
  }
  if (!hasBranching(graph, demand) && !rates.layers.empty()) {
    bound.mixture =
        mixtureOf(problem, rates, {{symmetry::identity(graph.nodeCount)}, {symmetry::identity(graph.nodeCount)}});
  }
  return bound;
}

/// Lists of kinds to try, in the order of the stages: the kinds of one direction.
class KindSearch {
public:
  KindSearch(Kind all, const std::vector<int>& orbitOf) : m_all(std::move(all)) {
    std::map<int, std::vector<int>> members;
    for (std::size_t node = 0; node < m_all.size(); ++node) {
      if (m_all[node]) {
        members[orbitOf[node]].push_back(static_cast<int>(node));
        m_nodes.push_back(static_cast<int>(node));
      }
    }
    for (auto& [lowest, nodes] : members) {
      m_orbits.push_back(std::move(nodes));
    }
  }

  static constexpr int kStages = 7;

  [[nodiscard]] std::vector<Kind> kinds(int stage) const {
    std::set<Kind> found;
    const Kind none(m_all.size(), false);
    const auto with = [](Kind kind, const std::vector<int>& nodes, bool isIn) {
      for (const int node : nodes) {
        kind[node] = isIn;
      }
      return kind;
    };
    if (stage == 0) {
      found = {m_all};  // alone it needs the fewest trees
    } else if (stage == 1) {
      found = {none, m_all};
    }
    for (const std::vector<int>& orbit : m_orbits) {
      if (stage == 2) {
        found.insert(with(none, orbit, true));
        found.insert(with(m_all, orbit, false));
      }
      const int node = orbit.front();  // the others make equal kinds
      if (stage == 3) {
        found.insert(with(with(m_all, orbit, false), {node}, true));
      } else if (stage == 4) {
        found.insert(with(none, {node}, true));
      } else if (stage == 5) {
        found.insert(with(m_all, {node}, false));
      }
    }
    if (stage == kStages - 1 && m_nodes.size() <= kFewNodes) {
      for (unsigned set = 0; set < 1U << m_nodes.size(); ++set) {
        Kind kind = none;
        for (std::size_t i = 0; i < m_nodes.size(); ++i) {
          kind[m_nodes[i]] = (set >> i & 1U) != 0;
        }
        found.insert(std::move(kind));
      }
    }
    return {found.begin(), found.end()};
  }

private:
  static constexpr std::size_t kFewNodes = 5;  // of which all sets are tried

  Kind m_all;
  std::vector<int> m_nodes;
  std::vector<std::vector<int>> m_orbits;
};

}  // namespace

TreeGraph treeGraph(const Fabric& fabric) {
  TreeGraph graph;
  graph.nodeCount = fabric.nodeCount();
  graph.gpus.assign(fabric.gpus().begin(), fabric.gpus().end());
  for (const fabric::Node& node : fabric.nodes()) {
    graph.kindOf.push_back(static_cast<int>(node.kind));
    graph.boxOf.push_back(node.box);
    graph.copies.push_back(schedule::isCapable(node, schedule::Direction::out));
    graph.sums.push_back(schedule::isCapable(node, schedule::Direction::in));
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    graph.arcs.push_back({arc.tail, arc.head, arc.bandwidth});
  }
  return graph;
}

std::vector<bool> branching(const TreeGraph& graph, const TreeDemand& demand, bool isIn) {
  return demand.plainSwitches ? std::vector<bool>(static_cast<std::size_t>(graph.nodeCount), false)
         : isIn               ? graph.sums
                              : graph.copies;
}

bool isMirrored(const TreeGraph& graph, const TreeDemand& demand) {
  if (demand.collective != Collective::allreduce || branching(graph, demand, false) != branching(graph, demand, true)) {
    return false;
  }
  std::map<std::pair<int, int>, const Bandwidth*> bandwidths;
  for (const lp::RateArc& arc : graph.arcs) {
    bandwidths.emplace(std::pair(arc.tail, arc.head), &arc.bandwidth);
  }
  return std::all_of(graph.arcs.begin(), graph.arcs.end(), [&](const lp::RateArc& arc) {
    const auto back = bandwidths.find({arc.head, arc.tail});
    return back != bandwidths.end() && *back->second == arc.bandwidth;
  });
}

TreeBound treeBound(const Fabric& fabric, const TreeDemand& demand, const std::optional<Bandwidth>& known,
                    const Progress& progress) {
  return treeBound(treeGraph(fabric), demand, known, progress);
}

TreeBound treeBound(const TreeGraph& graph, const TreeDemand& demand, const std::optional<Bandwidth>& known,
                    const Progress& progress) {
  // Most plain fabrics need no program: their GPUs or boxes are the limit, and that is reached.
  std::optional<TreeBound> byParts;
  if (demand.collective == Collective::allreduce && graph.gpus.size() > 1) {
    byParts = partitionBound(graph, demand);
    if (byParts->algbw == known) {
      byParts->status = lp::BoundStatus::exact;
      return *std::move(byParts);
    }
  }
  TreeBound bound = boundByProgram(graph, demand, known, progress);
  const auto isOpen = [&] {
    return bound.status != lp::BoundStatus::exact ||
           (!hasBranching(graph, demand) && !bound.mixture && bound.algbw != known);
  };
  if (auto packed = isOpen() ? boundWithoutRelays(graph, demand, progress) : std::nullopt) {
    return *std::move(packed);
  }
  if (byParts && bound.status != lp::BoundStatus::exact) {
    for (TreeBound other : {*std::move(byParts), leastCutBound(graph, progress)}) {
      if (bound.status == lp::BoundStatus::notComputed || other.algbw < bound.algbw) {
        bound = std::move(other);
      }
    }
    bound.status = bound.algbw == known ? lp::BoundStatus::exact : lp::BoundStatus::upperBound;
  }
  return bound;
}

std::optional<TreeMixture> bestMixture(const Fabric& fabric, const TreeDemand& demand, const Bandwidth& upper,
                                       const Progress& progress) {
  const TreeGraph graph = treeGraph(fabric);
  constexpr std::size_t kMaxImages = 64;
  const Rational kNearlyReached(99, 100);
  const symmetry::ColouredDigraph coloured = colouredOf(graph, demand);
  const symmetry::Orbits base = orbitsOf(graph, coloured, progress);
  const symmetry::SetOrbits orbitsOfKinds(coloured, base.generators);
  const KindSearch outKinds(branching(graph, demand, false), base.ofNode);
  const KindSearch inKinds(branching(graph, demand, true), base.ofNode);
  const Kind none(static_cast<std::size_t>(graph.nodeCount), false);
  std::optional<TreeMixture> best;
  std::set<std::pair<bool, Kind>> tried;  // with their images
  for (int stage = 0; stage < KindSearch::kStages; ++stage) {
    progress.report("kinds of trees", static_cast<double>(stage) / KindSearch::kStages);
    lp::TreeProblem problem = problemOf(graph, demand, base);
    problem.ownCopies = ownCopyArcs(graph, demand);
    std::vector<std::vector<symmetry::Permutation>> images;
    const auto add = [&](bool isIn, const Kind& kind, symmetry::SetOrbit&& orbit) {
      problem.layers.push_back({isIn, kind, none, std::move(orbit.ofNode), std::move(orbit.ofArc)});
      images.push_back(std::move(orbit.images));
    };
    // What served until now stays.
    for (const TreeShare& share : best ? best->kinds : std::vector<TreeShare>()) {
      add(share.isIn, share.reaches, *orbitsOfKinds.of(share.reaches, kMaxImages));
    }
    bool isNew = false;
    for (const bool isIn : {false, true}) {
      if (!hasDirection(demand, isIn) || (isIn && isMirrored(graph, demand))) {
        continue;
      }
      for (const Kind& kind : (isIn ? inKinds : outKinds).kinds(stage)) {
        if (tried.contains({isIn, kind})) {
          continue;
        }
        auto orbit = orbitsOfKinds.of(kind, kMaxImages);
        if (!orbit) {
          continue;
        }
        for (const symmetry::Permutation& image : orbit->images) {
          Kind other = none;
          for (std::size_t node = 0; node < kind.size(); ++node) {
            other[image[node]] = kind[node];
          }
          tried.insert({isIn, std::move(other)});
        }
        add(isIn, kind, *std::move(orbit));
        isNew = true;
      }
    }
    if (!isNew) {
      continue;
    }
    // Later stages have many kinds and gain little, and so do all where little is missing.
    const bool gainsLittle = stage >= 2 || (best && best->algbw >= upper * kNearlyReached);
    const lp::Milliseconds budget = gainsLittle ? demand.budget / 16 : demand.budget;
    // Roots that are free take fewer trees; even ones make a smaller program, which may be the one that ends.
    for (const bool isEven : {false, true}) {
      problem.hasEvenRoots = isEven;
      if (isEven && !problem.amounts.empty()) {
        break;
      }
      const lp::TreeRates rates = orThrow(lp::solveTreeProgram(problem, {.budget = budget}, progress));
      if (!rates.layers.empty() && (!best || rates.rate > best->algbw)) {
        best = mixtureOf(problem, rates, images);
      }
      if (!rates.layers.empty()) {
        break;  // even roots gain nothing
      }
    }
    if (best && best->algbw >= upper) {
      break;
    }
  }
  return best;
}

}  // namespace coppice::forestcoll
