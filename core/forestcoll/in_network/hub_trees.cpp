// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/hub_trees.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/rational.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// More kinds of parts are left to trees over the whole fabric.
constexpr std::size_t kMaxKinds = 48;
const Rational kWorthIt(99, 100);

/// What the trees over the GPUs of a part and a hub may use. Nodes are numbered from 0 as in the part, the hub last.
struct PartProblem {
  TreeGraph graph;
  std::vector<bool> mayBranch;

  /// Equal problems have equal keys.
  using Key = std::tuple<std::vector<int>, std::vector<bool>, std::vector<std::tuple<int, int, Rational>>>;
  [[nodiscard]] Key key() const {
    Key key{graph.gpus, mayBranch, {}};
    for (const lp::RateArc& arc : graph.arcs) {
      std::get<2>(key).emplace_back(arc.tail, arc.head, arc.bandwidth.gigabytesPerSecond());
    }
    return key;
  }
  /// No more than enters the GPU, or the hub, with the least.
  [[nodiscard]] Rational limit() const {
    std::vector<Rational> into(static_cast<std::size_t>(graph.nodeCount));
    for (const lp::RateArc& arc : graph.arcs) {
      into[arc.head] += arc.bandwidth.gigabytesPerSecond();
    }
    Rational least = into[graph.gpus.front()];
    for (const int gpu : graph.gpus) {
      least = std::min(least, into[gpu]);
    }
    return least;
  }
};

/// Hubs, and the parts into which the fabric falls without them.
struct Split {
  std::vector<int> hubs;
  std::vector<std::vector<int>> parts;  ///< their nodes in ascending order; each has a GPU
  std::vector<int> partOf;              ///< by node, -1 = none
  std::vector<std::vector<int>> arcs;   ///< by part: those with an end in it
};

class HubPacking {
public:
  HubPacking(const TreeGraph& graph, const std::vector<bool>& mayBranch, const Bandwidth& upper,
             std::chrono::milliseconds budget, const Progress& progress)
      : m_graph(graph), m_mayBranch(mayBranch), m_upper(upper), m_budget(budget), m_progress(progress) {
    m_isGpu.assign(static_cast<std::size_t>(graph.nodeCount), false);
    for (const int gpu : graph.gpus) {
      m_isGpu[gpu] = true;
    }
    m_neighbours.resize(static_cast<std::size_t>(graph.nodeCount));
    for (const lp::RateArc& arc : graph.arcs) {
      if (arc.bandwidth.isPositive()) {
        m_neighbours[arc.tail].push_back(arc.head);
      }
    }
  }

  std::optional<TreePacking> run() {
    std::vector<int> candidates;
    for (int node = 0; node < m_graph.nodeCount; ++node) {
      if (m_mayBranch[node] && m_graph.boxOf[node].empty()) {
        candidates.push_back(node);
      }
    }
    std::optional<TreePacking> best;
    while (!candidates.empty()) {
      const Split split = splitBy(candidates);
      if (auto packing = split.parts.size() > 1 ? pack(split) : std::nullopt;
          packing && (!best || best->algbw() < packing->algbw())) {
        best = std::move(packing);
      }
      if (best && best->algbw() >= m_upper) {
        break;
      }
      candidates = withoutLowest(candidates);
    }
    return best;
  }

private:
  [[nodiscard]] Split splitBy(const std::vector<int>& hubs) const {
    Split split{.hubs = hubs, .parts = {}, .partOf = std::vector<int>(m_neighbours.size(), -1), .arcs = {}};
    std::vector<bool> isHub(m_neighbours.size(), false);
    for (const int hub : hubs) {
      isHub[hub] = true;
    }
    for (const int gpu : m_graph.gpus) {
      if (split.partOf[gpu] >= 0) {
        continue;
      }
      const auto part = static_cast<int>(split.parts.size());
      std::vector<int> nodes{gpu};
      split.partOf[gpu] = part;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const int next : m_neighbours[nodes[i]]) {
          if (!isHub[next] && split.partOf[next] < 0) {
            split.partOf[next] = part;
            nodes.push_back(next);
          }
        }
      }
      std::sort(nodes.begin(), nodes.end());
      split.parts.push_back(std::move(nodes));
    }
    split.arcs.resize(split.parts.size());
    for (std::size_t arc = 0; arc < m_graph.arcs.size(); ++arc) {
      const int part = std::max(split.partOf[m_graph.arcs[arc].tail], split.partOf[m_graph.arcs[arc].head]);
      if (part >= 0) {
        split.arcs[part].push_back(static_cast<int>(arc));
      }
    }
    return split;
  }

  /// Switches farther from the GPUs than the nearest of these, such as the spines of leaves and spines.
  [[nodiscard]] std::vector<int> withoutLowest(const std::vector<int>& hubs) const {
    std::vector<int> hops(m_neighbours.size(), -1);
    std::queue<int> open;
    for (const int gpu : m_graph.gpus) {
      hops[gpu] = 0;
      open.push(gpu);
    }
    while (!open.empty()) {
      const int at = open.front();
      open.pop();
      for (const int next : m_neighbours[at]) {
        if (hops[next] < 0) {
          hops[next] = hops[at] + 1;
          open.push(next);
        }
      }
    }
    int least = std::numeric_limits<int>::max();
    for (const int hub : hubs) {
      least = hops[hub] < 0 ? least : std::min(least, hops[hub]);
    }
    std::vector<int> higher;
    for (const int hub : hubs) {
      if (hops[hub] > least) {
        higher.push_back(hub);
      }
    }
    return higher;
  }

  /// By hub: its part of all that enters hubs; 0 where it does not reach every part.
  [[nodiscard]] std::vector<Rational> sharesOf(const Split& split) const {
    std::map<int, std::size_t> numberOf;
    for (std::size_t i = 0; i < split.hubs.size(); ++i) {
      numberOf[split.hubs[i]] = i;
    }
    std::vector<Rational> widths(split.hubs.size());
    std::vector<std::vector<bool>> reaches(split.hubs.size(), std::vector<bool>(split.parts.size(), false));
    for (const lp::RateArc& arc : m_graph.arcs) {
      const auto hub = numberOf.find(arc.head);
      if (hub != numberOf.end() && split.partOf[arc.tail] >= 0 && arc.bandwidth.isPositive()) {
        widths[hub->second] += arc.bandwidth.gigabytesPerSecond();
        reaches[hub->second][split.partOf[arc.tail]] = true;
      }
    }
    Rational sum;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (std::find(reaches[i].begin(), reaches[i].end(), false) != reaches[i].end()) {
        widths[i] = Rational(0);
      }
      sum += widths[i];
    }
    for (Rational& width : widths) {
      width = sum.isZero() ? Rational(0) : width / sum;
    }
    return widths;
  }

  [[nodiscard]] PartProblem problemOf(const Split& split, int part, int hub, const Rational& share) const {
    const std::vector<int>& nodes = split.parts[part];
    const auto count = static_cast<int>(nodes.size());
    PartProblem problem;
    problem.graph.nodeCount = count + 1;
    const auto numberOf = [&](int node) {
      return node == hub ? count : static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
    };
    for (const int node : nodes) {
      problem.mayBranch.push_back(m_mayBranch[node]);
      if (m_isGpu[node]) {
        problem.graph.gpus.push_back(numberOf(node));
      }
    }
    problem.mayBranch.push_back(false);
    problem.graph.gpus.push_back(count);
    for (const int number : split.arcs[part]) {
      const lp::RateArc& arc = m_graph.arcs[number];
      const bool isInside = split.partOf[arc.tail] == part && split.partOf[arc.head] == part;
      const bool isOfHub =
          (arc.head == hub && split.partOf[arc.tail] == part) || (arc.tail == hub && split.partOf[arc.head] == part);
      if (arc.bandwidth.isPositive() && (isInside || isOfHub)) {
        problem.graph.arcs.push_back(
            {numberOf(arc.tail), numberOf(arc.head), isInside ? arc.bandwidth * share : arc.bandwidth});
      }
    }
    std::sort(problem.graph.arcs.begin(), problem.graph.arcs.end(), [](const lp::RateArc& a, const lp::RateArc& b) {
      return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
    });
    return problem;
  }

  std::optional<TreePacking> pack(const Split& split) {
    const std::vector<Rational> shares = sharesOf(split);
    struct Kind {
      PartProblem problem;
      Bandwidth upper;
      std::optional<TreePacking> packing = {};
    };
    std::map<PartProblem::Key, std::size_t> numberOf;
    std::vector<Kind> kinds;
    std::vector<std::vector<std::size_t>> kindOf(split.hubs.size());  // by hub and part
    Rational limit;
    for (std::size_t hub = 0; hub < split.hubs.size(); ++hub) {
      if (shares[hub].isZero()) {
        continue;
      }
      Rational least = m_upper.gigabytesPerSecond();
      for (std::size_t part = 0; part < split.parts.size(); ++part) {
        throwIfCancelled(m_progress);
        PartProblem problem = problemOf(split, static_cast<int>(part), split.hubs[hub], shares[hub]);
        least = std::min(least, problem.limit());
        const auto [found, isNew] = numberOf.try_emplace(problem.key(), kinds.size());
        if (isNew) {
          kinds.push_back({std::move(problem), m_upper * shares[hub]});
        }
        if (kinds.size() > kMaxKinds) {
          return std::nullopt;
        }
        kindOf[hub].push_back(found->second);
      }
      limit += least;
    }
    if (kinds.empty() || limit < m_upper.gigabytesPerSecond() * kWorthIt) {
      return std::nullopt;
    }
    for (Kind& kind : kinds) {
      kind.packing = packTrees(kind.problem.graph, kind.problem.mayBranch, std::nullopt, kind.upper,
                               m_budget / static_cast<int>(kinds.size()), m_progress);
      if (!kind.packing) {
        return std::nullopt;
      }
    }
    std::vector<std::pair<GrownTree, Rational>> trees;
    for (std::size_t hub = 0; hub < split.hubs.size(); ++hub) {
      std::vector<const TreePacking*> packings;
      for (const std::size_t kind : kindOf[hub]) {
        packings.push_back(&*kinds[kind].packing);
      }
      if (!packings.empty()) {
        addWhole(split, split.hubs[hub], packings, trees);
      }
    }
    return inParts(std::move(trees));
  }

  /// The trees of the parts side by side.
  void addWhole(const Split& split, int hub, const std::vector<const TreePacking*>& packings,
                std::vector<std::pair<GrownTree, Rational>>& trees) const {
    Rational rate = packings.front()->algbw().gigabytesPerSecond();
    for (const TreePacking* packing : packings) {
      rate = std::min(rate, packing->algbw().gigabytesPerSecond());
    }
    struct Place {
      std::size_t tree = 0;
      Rational end;  ///< rates of the trees up to this one
    };
    const auto widthOf = [](const TreePacking& packing, std::size_t tree) {
      return packing.unit.gigabytesPerSecond() * Rational(packing.parts[tree].count);
    };
    std::vector<Place> places;
    for (const TreePacking* packing : packings) {
      places.push_back({0, widthOf(*packing, 0)});
    }
    Rational from;
    while (from < rate) {
      throwIfCancelled(m_progress);
      Rational to = rate;
      for (const Place& place : places) {
        to = std::min(to, place.end);
      }
      GrownTree whole;
      whole.root = hub;
      for (std::size_t part = 0; part < packings.size(); ++part) {
        addPart(packings[part]->parts[places[part].tree].tree, split.parts[part], hub, whole);
      }
      trees.emplace_back(std::move(whole), to - from);
      from = to;
      for (std::size_t part = 0; part < packings.size() && from < rate; ++part) {
        Place& place = places[part];
        if (place.end == from) {
          ++place.tree;
          place.end += widthOf(*packings[part], place.tree);
        }
      }
    }
  }

  static void addPart(const GrownTree& tree, const std::vector<int>& nodes, int hub, GrownTree& whole) {
    const auto nodeOf = [&](int number) { return number == static_cast<int>(nodes.size()) ? hub : nodes[number]; };
    for (const GrownTree::Edge& edge : tree.edges) {
      GrownTree::Edge mapped{nodeOf(edge.parent), nodeOf(edge.child), {}};
      for (const fabric::NodeIndex number : edge.path) {
        mapped.path.push_back(nodeOf(number));
      }
      whole.edges.push_back(std::move(mapped));
    }
  }

  static std::optional<TreePacking> inParts(std::vector<std::pair<GrownTree, Rational>> trees) {
    int64_t denominator = 1;
    for (const auto& [tree, rate] : trees) {
      denominator = leastCommonMultiple(denominator, rate.denominator());
    }
    int64_t divisor = 0;
    std::vector<int64_t> counts;
    for (const auto& [tree, rate] : trees) {
      counts.push_back(checkedMul(rate.numerator(), denominator / rate.denominator()));
      divisor = std::gcd(divisor, counts.back());
    }
    if (divisor == 0) {
      return std::nullopt;
    }
    TreePacking packing{.unit = Bandwidth(divisor, denominator)};
    for (std::size_t i = 0; i < trees.size(); ++i) {
      packing.parts.push_back({std::move(trees[i].first), counts[i] / divisor});
    }
    return packing;
  }

  const TreeGraph& m_graph;
  const std::vector<bool>& m_mayBranch;
  const Bandwidth& m_upper;
  std::chrono::milliseconds m_budget;
  const Progress& m_progress;
  std::vector<bool> m_isGpu;
  std::vector<std::vector<int>> m_neighbours;
};

}  // namespace

std::optional<TreePacking> packOverHubs(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                        const Bandwidth& upper, std::chrono::milliseconds budget,
                                        const Progress& progress) {
  return HubPacking(graph, mayBranch, upper, budget, progress).run();
}

}  // namespace coppice::forestcoll
