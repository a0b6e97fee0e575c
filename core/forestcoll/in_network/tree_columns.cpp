// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/tree_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "forestcoll/in_network/gpu_forest.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::NodeIndex;
using std::int64_t;

constexpr double kGain = 1e-7;  ///< what a tree must cost less than 1 to be taken up

/// A link between two nodes, both directions.
struct DuplexLink {
  int a = 0;
  int b = 0;
  int64_t capacity = 0;  ///< in units
};

/// A tree over all GPUs. `path` leads from the parent to the child and holds both.
struct GrownTree {
  struct Edge {
    int parent = 0;
    int child = 0;
    std::vector<NodeIndex> path;
  };
  int root = 0;
  std::vector<Edge> edges;                ///< parents before children
  std::vector<std::pair<int, int>> uses;  ///< links in ascending order, and how often the tree passes them
};

class TreeGrower {
public:
  explicit TreeGrower(const TreeGraph& graph) {
    const auto count = static_cast<std::size_t>(graph.nodeCount);
    m_isGpu.assign(count, false);
    for (const int gpu : graph.gpus) {
      m_isGpu[gpu] = true;
    }
    m_gpuCount = graph.gpus.size();
    m_neighbours.resize(count);
    m_label.resize(count);
  }
  void addLink(int link, int a, int b) {
    m_neighbours[a].push_back({b, link});
    m_neighbours[b].push_back({a, link});
  }

  /// Joins the nearest GPU again and again, over paths from the tree through relays.
  /// @param weights by link, >= 0
  /// @param again by link: what it weighs more for each time that the tree passes it already
  /// @param hop weight of a GPU between a node and the root: keeps trees low
  /// @param mayBranch by node: relays at which the tree may branch
  /// @param spansRelays reaches all of these, like GPUs: then no tree of that kind weighs less, but for `again`
  GrownTree grow(const std::vector<double>& weights, const std::vector<double>& again, int root, double hop,
                 const std::vector<bool>& mayBranch, bool spansRelays) {
    m_branches = &mayBranch;
    std::fill(m_label.begin(), m_label.end(), Label());
    m_uses.assign(weights.size(), 0);
    m_heap = {};
    const auto weightOf = [&](int link) { return weights[link] + again[link] * m_uses[link]; };
    GrownTree tree;
    tree.root = root;
    join(root, 0, hop);
    std::size_t missing = m_gpuCount - 1;
    if (spansRelays) {
      missing += static_cast<std::size_t>(std::count(mayBranch.begin(), mayBranch.end(), true));
    }
    while (missing > 0 && !m_heap.empty()) {
      const auto [distance, node] = m_heap.top();
      m_heap.pop();
      Label& label = m_label[node];
      ++work;
      if (distance > label.distance) {
        continue;
      }
      const bool isWanted = m_isGpu[node] || (spansRelays && mayBranch[node]);
      if (!label.isInTree && isWanted) {
        missing -= connect(node, hop, spansRelays, tree, weightOf);
        continue;
      }
      for (const Neighbour& to : m_neighbours[node]) {
        Label& next = m_label[to.node];
        ++work;
        if (const double length = distance + weightOf(to.link);
            !next.isInTree && length < next.distance && !leadsThrough(node, to.node)) {
          next.distance = length;
          next.from = node;
          next.link = to.link;
          m_heap.emplace(length, to.node);
        }
      }
    }
    dropBareRelays(tree);
    return tree;
  }

  std::size_t work = 0;

private:
  struct Neighbour {
    int node = 0;
    int link = 0;
  };
  struct Label {
    double distance = std::numeric_limits<double>::infinity();
    int from = -1;
    int link = -1;  ///< from there
    int depth = 0;
    bool isInTree = false;
  };
  struct Farther {
    bool operator()(const std::pair<double, int>& a, const std::pair<double, int>& b) const { return a > b; }
  };

  /// Whether the way from the tree to a node leads through a relay: labels that relabel() left too low could close a
  /// circle.
  [[nodiscard]] bool leadsThrough(int node, int relay) const {
    if (m_isGpu[relay]) {
      return false;
    }
    while (node != relay && !m_label[node].isInTree) {
      node = m_label[node].from;
    }
    return node == relay;
  }

  void join(int node, int depth, double hop) {
    Label& label = m_label[node];
    label.isInTree = true;
    label.depth = depth;
    label.distance = hop * depth;
    m_heap.emplace(label.distance, node);
  }

  /// The path to the node joins the tree, and what can branch on it. How many came in that were missing.
  template <typename WeightOf>
  std::size_t connect(int node, double hop, bool spansRelays, GrownTree& tree, const WeightOf& weightOf) {
    std::vector<NodeIndex> path{node};
    while (!m_label[path.back()].isInTree) {
      ++m_uses[m_label[path.back()].link];
      path.push_back(m_label[path.back()].from);
    }
    std::reverse(path.begin(), path.end());
    std::size_t start = 0;
    std::size_t wanted = 0;
    for (std::size_t i = 1; i < path.size(); ++i) {
      const int at = path[i];
      if (!m_isGpu[at] && !(*m_branches)[at]) {
        continue;
      }
      const int parent = path[start];
      tree.edges.push_back(
          {parent,
           at,
           {path.begin() + static_cast<std::ptrdiff_t>(start), path.begin() + static_cast<std::ptrdiff_t>(i) + 1}});
      wanted += m_isGpu[at] || spansRelays ? 1 : 0;
      join(at, m_label[parent].depth + (m_isGpu[at] ? 1 : 0), hop);
      start = i;
    }
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (!m_label[path[i]].isInTree) {
        relabel(path[i], weightOf);
      }
    }
    return wanted;
  }

  /// The way from the tree to a relay that was passed may weigh more now. Labels behind it may be too low since; their
  /// paths are sound.
  template <typename WeightOf>
  void relabel(int relay, const WeightOf& weightOf) {
    Label& label = m_label[relay];
    label.distance = std::numeric_limits<double>::infinity();
    for (const Neighbour& from : m_neighbours[relay]) {
      ++work;
      const Label& near = m_label[from.node];
      if (const double length = near.distance + weightOf(from.link); near.isInTree && length < label.distance) {
        label = {length, from.node, from.link, 0, false};
      }
    }
    m_heap.emplace(label.distance, relay);
  }

  /// Relays without children carry nothing.
  void dropBareRelays(GrownTree& tree) const {
    std::vector<int> children(m_label.size(), 0);
    for (const GrownTree::Edge& edge : tree.edges) {
      ++children[edge.parent];
    }
    std::vector<GrownTree::Edge> kept;
    for (auto edge = tree.edges.rbegin(); edge != tree.edges.rend(); ++edge) {
      if (m_isGpu[edge->child] || children[edge->child] > 0) {
        kept.push_back(std::move(*edge));
      } else {
        --children[edge->parent];
      }
    }
    std::reverse(kept.begin(), kept.end());
    tree.edges = std::move(kept);
  }

  const std::vector<bool>* m_branches = nullptr;
  std::vector<bool> m_isGpu;
  std::size_t m_gpuCount = 0;
  std::vector<std::vector<Neighbour>> m_neighbours;
  std::vector<Label> m_label;
  std::vector<int> m_uses;  ///< by link, of the tree so far
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, Farther> m_heap;
};

/// The parts of the trees, by tree, over one denominator.
struct Parts {
  std::vector<int64_t> numerators;
  int64_t denominator = 1;
};

class ColumnSearch {
public:
  ColumnSearch(const fabric::Fabric& fabric, const TreeGraph& graph, const TreeDemand& demand,
               const std::optional<TreeMixture>& mixture, const Bandwidth& upper, const Progress& progress);
  std::optional<ColumnTrees> run();

private:
  /// How trees are grown: where they may branch, whether they reach all of that, and how often it is done.
  struct Way {
    std::vector<bool> mayBranch;
    bool spansRelays = false;
    double weight = 1;
    double grown = 0;
  };

  void addWays(const TreeMixture& mixture);
  const Way& nextWay();
  bool addTree(const std::vector<double>& weights, const std::vector<double>& again, double hop, double most);
  void growFirst();
  void activateFirst();
  void extendProgram();
  bool solve();
  void findSingleLinks();
  [[nodiscard]] bool activateOverloaded();
  void centre(const std::vector<double>& weights, double cost);
  bool addCheaper(double smoothness);
  [[nodiscard]] std::vector<double> smoothWeights(double smoothness) const;
  [[nodiscard]] std::optional<Parts> exactParts() const;
  [[nodiscard]] Parts roundedParts() const;
  [[nodiscard]] bool fits(const Parts& parts) const;
  void keep(const Parts& parts);
  [[nodiscard]] Bandwidth rateOf(const Parts& parts) const;
  [[nodiscard]] ColumnTrees write() const;
  [[nodiscard]] int startOf(int turn) const;

  const fabric::Fabric& m_fabric;
  const TreeGraph& m_graph;
  const Bandwidth& m_upper;
  const Progress& m_progress;
  lp::WorkBudget m_budget;
  std::vector<Way> m_ways;
  int64_t m_unit = 1;  ///< capacities are in 1 / unit GB/s
  std::vector<DuplexLink> m_links;
  std::map<std::pair<int, int>, int> m_linkOf;
  TreeGrower m_grower;
  std::vector<GrownTree> m_trees;
  std::set<std::vector<std::pair<int, int>>> m_known;
  std::vector<bool> m_isActive;     ///< by link: has a price
  std::vector<bool> m_isSpokenFor;  ///< by link: another one is as full and narrower
  std::optional<lp::Simplex> m_simplex;
  std::vector<double> m_centre;  ///< by link: prices of the best bound so far
  double m_centreBound = std::numeric_limits<double>::infinity();
  std::vector<int> m_columnOf;     ///< by link, -1 = none
  std::vector<double> m_price;     ///< by link, so that the cheapest tree costs 1
  std::vector<double> m_part;      ///< by tree
  std::vector<double> m_feasible;  ///< the last of these that fit
  std::vector<double> m_load;      ///< by link
  double m_rate = 0;
  int m_turn = 0;
  double m_lastCost = 0;  ///< of the tree grown last, in the weights it was grown for
  std::optional<Parts> m_best;
};

ColumnSearch::ColumnSearch(const fabric::Fabric& fabric, const TreeGraph& graph, const TreeDemand& demand,
                           const std::optional<TreeMixture>& mixture, const Bandwidth& upper, const Progress& progress)
    : m_fabric(fabric),
      m_graph(graph),
      m_upper(upper),
      m_progress(progress),
      m_budget(demand.budget / 5),
      m_grower(graph) {
  std::vector<bool> capable = branching(graph, demand, false);
  if (std::find(capable.begin(), capable.end(), true) != capable.end()) {
    m_ways.push_back({capable, false, 1});
  }
  m_ways.push_back({std::move(capable), true, 1});
  if (mixture) {
    addWays(*mixture);
  }
  for (const lp::RateArc& arc : graph.arcs) {
    m_unit = leastCommonMultiple(m_unit, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  for (const lp::RateArc& arc : graph.arcs) {
    if (arc.tail < arc.head && arc.bandwidth.isPositive()) {
      const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
      const auto link = static_cast<int>(m_links.size());
      m_links.push_back({arc.tail, arc.head, checkedMul(bandwidth.numerator(), m_unit / bandwidth.denominator())});
      m_linkOf.emplace(std::pair(arc.tail, arc.head), link);
      m_grower.addLink(link, arc.tail, arc.head);
    }
  }
  m_isActive.assign(m_links.size(), false);
  m_price.assign(m_links.size(), 0);
  m_centre.assign(m_links.size(), 0);
  m_load.assign(m_links.size(), 0);
}

/// The kinds of trees of the mixture, as often as they take part in it, together as often as the other ways.
void ColumnSearch::addWays(const TreeMixture& mixture) {
  constexpr std::size_t kMaxWays = 256;
  double sum = 0;
  const std::size_t first = m_ways.size();
  for (const TreeShare& share : mixture.kinds) {
    double part = 0;
    for (const int64_t root : share.roots) {
      part += static_cast<double>(root);
    }
    for (const symmetry::Permutation& image : share.images) {
      if (m_ways.size() == kMaxWays) {
        break;
      }
      Way way{std::vector<bool>(share.reaches.size(), false), true, part / static_cast<double>(share.images.size())};
      for (std::size_t node = 0; node < share.reaches.size(); ++node) {
        way.mayBranch[image[node]] = share.reaches[node];
      }
      sum += way.weight;
      m_ways.push_back(std::move(way));
    }
  }
  for (std::size_t i = first; i < m_ways.size(); ++i) {
    m_ways[i].weight *= static_cast<double>(first) / sum;
  }
}

/// The way whose turn it is.
const ColumnSearch::Way& ColumnSearch::nextWay() {
  Way& next = *std::min_element(m_ways.begin(), m_ways.end(), [](const Way& a, const Way& b) {
    return (a.grown + 1) / a.weight < (b.grown + 1) / b.weight;
  });
  ++next.grown;
  return next;
}

/// GPUs in turn, far from each other.
int ColumnSearch::startOf(int turn) const {
  const auto gpus = static_cast<int64_t>(m_graph.gpus.size());
  int64_t step = std::max<int64_t>(1, (gpus * 618) / 1000);
  while (std::gcd(step, gpus) != 1) {
    ++step;
  }
  return m_graph.gpus[static_cast<std::size_t>(turn * step % gpus)];
}

/// Grows a tree, and takes it up where it is new and costs less than `most`.
bool ColumnSearch::addTree(const std::vector<double>& weights, const std::vector<double>& again, double hop,
                           double most) {
  const Way& way = nextWay();
  const std::size_t before = m_grower.work;
  GrownTree tree = m_grower.grow(weights, again, startOf(m_turn++), hop, way.mayBranch, way.spansRelays);
  constexpr std::size_t kNumbersPerStep = 12;
  m_budget.spend(kNumbersPerStep * (m_grower.work - before));
  std::map<int, int> uses;
  double cost = 0;
  m_lastCost = 0;
  for (const GrownTree::Edge& edge : tree.edges) {
    for (std::size_t i = 1; i < edge.path.size(); ++i) {
      const int link = m_linkOf.at(std::minmax(edge.path[i - 1], edge.path[i]));
      ++uses[link];
      cost += m_price[link];
      m_lastCost += weights[link];
    }
  }
  if (cost >= most) {
    return false;
  }
  tree.uses.assign(uses.begin(), uses.end());
  if (!m_known.insert(tree.uses).second) {
    return false;
  }
  m_trees.push_back(std::move(tree));
  return true;
}

/// Grows about as e^(10 x) up to x = 1, and is the same on every machine.
double steep(double full) {
  const double base = 1 + full;
  const double square = base * base;
  const double fourth = square * square;
  return fourth * fourth * fourth * square;
}

/// Trees that keep out of each other's way, as if each carried an equal part of what is hoped for: the weight of a link
/// grows steeply with how full it is (Garg and Koenemann, SIAM J. Comput. 37 (2007)).
void ColumnSearch::growFirst() {
  constexpr int kFirst = 160;
  const double amount = toGBps(m_upper) * static_cast<double>(m_unit) / kFirst;
  std::vector<double> weights(m_links.size());
  std::vector<double> again(m_links.size());
  for (int i = 0; i < kFirst && !m_budget.isSpent(); ++i) {
    throwIfCancelled(m_progress);
    double sum = 0;
    for (std::size_t link = 0; link < m_links.size(); ++link) {
      const auto capacity = static_cast<double>(m_links[link].capacity);
      weights[link] = steep(m_load[link] / capacity) / capacity;
      again[link] = steep((m_load[link] + amount) / capacity) / capacity - weights[link];
      sum += weights[link];
    }
    const double hop = 0.03 * sum / static_cast<double>(m_links.size());
    if (addTree(weights, again, hop, std::numeric_limits<double>::infinity())) {
      for (const auto& [link, times] : m_trees.back().uses) {
        m_load[link] += amount * times;
      }
    }
    centre(weights, m_lastCost);
  }
}

/// Prices for the links that the first trees fill, and for those of the GPU with the least bandwidth, which every tree
/// enters.
void ColumnSearch::activateFirst() {
  findSingleLinks();
  std::vector<int64_t> through(static_cast<std::size_t>(m_graph.nodeCount), 0);
  for (const DuplexLink& link : m_links) {
    through[link.a] = checkedAdd(through[link.a], link.capacity);
    through[link.b] = checkedAdd(through[link.b], link.capacity);
  }
  const int narrow = *std::min_element(m_graph.gpus.begin(), m_graph.gpus.end(),
                                       [&](int a, int b) { return through[a] < through[b]; });
  constexpr double kNearlyFull = 0.95;
  for (std::size_t i = 0; i < m_links.size(); ++i) {
    const DuplexLink& link = m_links[i];
    if (link.a == narrow || link.b == narrow ||
        (!m_isSpokenFor[i] && m_load[i] > kNearlyFull * static_cast<double>(link.capacity))) {
      m_isActive[i] = true;
    }
  }
}

/// The dual program: the least price of all capacity so that every tree costs at least 1. Its rows are the trees, its
/// columns the links that were full once.
void ColumnSearch::extendProgram() {
  if (!m_simplex) {
    m_columnOf.assign(m_links.size(), -1);
    std::vector<lp::Column> columns;
    for (std::size_t link = 0; link < m_links.size(); ++link) {
      if (m_isActive[link]) {
        m_columnOf[link] = static_cast<int>(columns.size());
        columns.push_back({.lower = 0,
                           .upper = 1,
                           .cost = -m_links[link].capacity,
                           .scale = 0.01,
                           .preference = -1e-9 * lp::spread(static_cast<int>(link))});
      }
    }
    m_simplex.emplace(std::move(columns));
  }
  for (std::size_t tree = m_simplex->rows().size(); tree < m_trees.size(); ++tree) {
    lp::Row row;
    row.lower = 1;
    for (const auto& [link, times] : m_trees[tree].uses) {
      if (m_columnOf[link] >= 0) {
        row.terms.push_back({m_columnOf[link], times});
      }
    }
    m_simplex->addRow(std::move(row));
  }
}

/// Prices of the links and parts of the trees so far. False where it was stopped.
bool ColumnSearch::solve() {
  for (;;) {
    throwIfCancelled(m_progress);
    extendProgram();
    const lp::StopTest stop = lp::stopTest(m_budget, m_progress);
    if (m_simplex->solve(stop) != lp::SimplexStatus::optimal) {
      throwIfCancelled(m_progress);
      return false;
    }
    m_rate = 0;
    std::fill(m_price.begin(), m_price.end(), 0);
    for (std::size_t link = 0; link < m_links.size(); ++link) {
      if (m_columnOf[link] >= 0) {
        m_price[link] = std::max(0.0, m_simplex->value(m_columnOf[link]));
        m_rate += m_price[link] * static_cast<double>(m_links[link].capacity);
      }
    }
    // Multipliers have one factor in common.
    double sum = 0;
    m_part.assign(m_trees.size(), 0);
    for (std::size_t tree = 0; tree < m_trees.size(); ++tree) {
      m_part[tree] = std::max(0.0, -m_simplex->multiplier(static_cast<int>(tree)));
      sum += m_part[tree];
    }
    if (sum <= 0) {
      return false;
    }
    std::fill(m_load.begin(), m_load.end(), 0);
    for (std::size_t tree = 0; tree < m_trees.size(); ++tree) {
      m_part[tree] *= m_rate / sum;
      for (const auto& [link, times] : m_trees[tree].uses) {
        m_load[link] += m_part[tree] * times;
      }
    }
    if (!activateOverloaded()) {
      m_feasible = m_part;
      return true;
    }
    m_simplex.reset();
  }
}

/// A GPU's only link carries every tree once: of all such links the narrowest speaks for the others.
void ColumnSearch::findSingleLinks() {
  std::vector<int> degree(static_cast<std::size_t>(m_graph.nodeCount), 0);
  for (const DuplexLink& link : m_links) {
    ++degree[link.a];
    ++degree[link.b];
  }
  std::vector<bool> isSingle(degree.size(), false);
  for (const int gpu : m_graph.gpus) {
    isSingle[gpu] = degree[gpu] == 1;
  }
  const std::vector<bool>& mayBranch = m_ways.front().mayBranch;
  m_isSpokenFor.assign(m_links.size(), false);
  int narrowest = -1;
  for (std::size_t i = 0; i < m_links.size(); ++i) {
    if ((isSingle[m_links[i].a] && mayBranch[m_links[i].b]) || (isSingle[m_links[i].b] && mayBranch[m_links[i].a])) {
      m_isSpokenFor[i] = true;
      if (narrowest < 0 || m_links[i].capacity < m_links[narrowest].capacity) {
        narrowest = static_cast<int>(i);
      }
    }
  }
  if (narrowest >= 0) {
    m_isSpokenFor[narrowest] = false;
    m_isActive[narrowest] = true;
  }
}

bool ColumnSearch::activateOverloaded() {
  constexpr double kTolerance = 1e-9;
  bool isNew = false;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    if (!m_isActive[link] && !m_isSpokenFor[link] &&
        m_load[link] > static_cast<double>(m_links[link].capacity) * (1 + kTolerance)) {
      m_isActive[link] = true;
      isNew = true;
    }
  }
  return isNew;
}

std::optional<Parts> ColumnSearch::exactParts() const {
  lp::WorkBudget grace{lp::Milliseconds(500)};
  const auto multipliers = m_simplex->exactMultipliers(lp::stopTest(grace, m_progress));
  throwIfCancelled(m_progress);
  if (!multipliers) {
    return std::nullopt;
  }
  Parts parts;
  parts.denominator = multipliers->denominator;
  for (const int64_t numerator : multipliers->numerators) {
    if (numerator > 0) {
      return std::nullopt;
    }
    parts.numerators.push_back(-numerator);
  }
  return parts;
}

/// The floating-point parts that fit, a little less than these; or any parts, as much of them as fits.
Parts ColumnSearch::roundedParts() const {
  std::vector<double> parts = m_feasible.empty() ? std::vector<double>(m_trees.size(), 1) : m_feasible;
  std::vector<double> loads(m_links.size(), 0);
  double most = 0;
  for (std::size_t tree = 0; tree < parts.size(); ++tree) {
    for (const auto& [link, times] : m_trees[tree].uses) {
      loads[link] += parts[tree] * times;
      most = std::max(most, loads[link] / static_cast<double>(m_links[link].capacity));
    }
  }
  constexpr double kLess = 1 - 1e-9;
  Parts rounded;
  rounded.denominator = int64_t{1} << 20;
  for (const double part : parts) {
    rounded.numerators.push_back(
        static_cast<int64_t>(std::floor(part / most * kLess * static_cast<double>(rounded.denominator))));
  }
  return rounded;
}

/// In exact arithmetic.
bool ColumnSearch::fits(const Parts& parts) const {
  std::vector<Int128> loads(m_links.size(), 0);
  for (std::size_t tree = 0; tree < parts.numerators.size(); ++tree) {
    for (const auto& [link, times] : m_trees[tree].uses) {
      loads[link] += Int128{parts.numerators[tree]} * times;
    }
  }
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    if (loads[link] > Int128{m_links[link].capacity} * parts.denominator) {
      return false;
    }
  }
  return true;
}

Bandwidth ColumnSearch::rateOf(const Parts& parts) const {
  int64_t sum = 0;
  for (const int64_t numerator : parts.numerators) {
    sum = checkedAdd(sum, numerator);
  }
  return {sum, checkedMul(parts.denominator, m_unit)};
}

void ColumnSearch::keep(const Parts& parts) {
  if (fits(parts) && (!m_best || rateOf(parts) >= rateOf(*m_best))) {
    m_best = parts;
  }
}

/// Prices of which the cheapest tree costs `cost` bound the rate, as far as that tree is the cheapest there is.
void ColumnSearch::centre(const std::vector<double>& weights, double cost) {
  double bound = 0;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    bound += weights[link] * static_cast<double>(m_links[link].capacity);
  }
  // Below what is proved, the tree was not the cheapest.
  if (bound < m_centreBound * cost && bound >= toGBps(m_upper) * static_cast<double>(m_unit) * (1 - kGain) * cost) {
    m_centreBound = bound / cost;
    m_centre = weights;
    for (double& price : m_centre) {
      price /= cost;
    }
  }
}

/// Prices between those of the program, which jump, and those of the best bound (Wentges, Int. Trans. Oper. Res. 4
/// (1997)); and a little for each link, more where it is full, which decides between trees of one price.
std::vector<double> ColumnSearch::smoothWeights(double smoothness) const {
  constexpr double kSoftness = 1e-3;
  std::vector<double> weights(m_links.size());
  const auto gpus = static_cast<double>(m_graph.gpus.size());
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    const double share = m_load[link] / static_cast<double>(m_links[link].capacity);
    weights[link] = (1 - smoothness) * m_price[link] + smoothness * m_centre[link] +
                    kSoftness / gpus * (0.05 + share * share) * std::max(smoothness, 1e-3);
  }
  return weights;
}

/// Trees that gain, from several roots.
bool ColumnSearch::addCheaper(double smoothness) {
  constexpr int kTrees = 12;
  const std::vector<double> weights = smoothWeights(smoothness);
  const double share = 1e-3 / static_cast<double>(m_graph.gpus.size()) * std::max(smoothness, 1e-3);
  const std::vector<double> again(m_links.size(), share);
  const double hop = 0.3 * share;
  bool isNew = false;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTrees && !m_budget.isSpent(); ++i) {
    throwIfCancelled(m_progress);
    isNew = addTree(weights, again, hop, 1 - kGain) || isNew;
    least = std::min(least, m_lastCost);
  }
  centre(weights, least);
  return isNew;
}

/// The same tree from a GPU in its middle, so that it is as low as it can be: between the ends of a longest way,
/// counted in GPUs.
GrownTree fromItsMiddle(const GrownTree& tree, const TreeGraph& graph) {
  struct Side {
    int node = 0;
    std::size_t edge = 0;
  };
  const auto count = static_cast<std::size_t>(graph.nodeCount);
  std::vector<std::vector<Side>> sides(count);
  for (std::size_t i = 0; i < tree.edges.size(); ++i) {
    sides[tree.edges[i].parent].push_back({tree.edges[i].child, i});
    sides[tree.edges[i].child].push_back({tree.edges[i].parent, i});
  }
  std::vector<int> weight(count, 0);
  for (const int gpu : graph.gpus) {
    weight[gpu] = 1;
  }
  std::vector<int> order;
  std::vector<Side> from(count);
  std::vector<int> depth(count, 0);
  const auto visit = [&](int root) {
    order.assign(1, root);
    from[root] = {-1, 0};
    depth[root] = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int node = order[i];
      for (const Side& side : sides[node]) {
        if (side.node != from[node].node) {
          from[side.node] = {node, side.edge};
          depth[side.node] = depth[node] + weight[side.node];
          order.push_back(side.node);
        }
      }
    }
    return *std::max_element(graph.gpus.begin(), graph.gpus.end(), [&](int a, int b) { return depth[a] < depth[b]; });
  };
  const int end = visit(visit(tree.root));
  int middle = end;
  const int half = depth[end] / 2;
  while (weight[middle] == 0 || depth[middle] > half) {
    middle = from[middle].node;
  }
  visit(middle);
  GrownTree turned;
  turned.root = middle;
  turned.uses = tree.uses;
  for (std::size_t i = 1; i < order.size(); ++i) {
    GrownTree::Edge edge = tree.edges[from[order[i]].edge];
    if (edge.child != order[i]) {
      std::swap(edge.parent, edge.child);
      std::reverse(edge.path.begin(), edge.path.end());
    }
    turned.edges.push_back(std::move(edge));
  }
  return turned;
}

ColumnTrees ColumnSearch::write() const {
  int64_t divisor = 0;
  int64_t sum = 0;
  for (const int64_t numerator : m_best->numerators) {
    divisor = std::gcd(divisor, numerator);
    sum = checkedAdd(sum, numerator);
  }
  GpuForest forest(m_fabric, InverseBandwidth(checkedMul(m_best->denominator, m_unit), divisor));
  for (std::size_t i = 0; i < m_best->numerators.size(); ++i) {
    if (m_best->numerators[i] == 0) {
      continue;
    }
    const GrownTree tree = fromItsMiddle(m_trees[i], m_graph);
    std::vector<GpuForest::Edge> edges;
    edges.reserve(tree.edges.size());
    for (const GrownTree::Edge& edge : tree.edges) {
      edges.push_back({edge.parent, edge.child, edge.path});
    }
    forest.addTree(tree.root, m_best->numerators[i] / divisor, edges);
  }
  return {rateOf(*m_best), forest.take()};
}

std::optional<ColumnTrees> ColumnSearch::run() {
  m_progress.report("trees one by one", 0);
  growFirst();
  activateFirst();
  const double upper = toGBps(m_upper) * static_cast<double>(m_unit);
  constexpr std::array kSmoothness = {0.7, 0.3, 0.0};
  bool isNew = true;
  while (isNew && solve()) {
    if (m_rate >= upper * (1 - kGain)) {
      break;
    }
    isNew = false;
    for (std::size_t i = 0; i < kSmoothness.size() && !isNew; ++i) {
      isNew = addCheaper(kSmoothness[i]);
    }
  }
  if (!m_simplex) {
    return std::nullopt;
  }
  if (std::optional<Parts> parts = exactParts(); parts && fits(*parts)) {
    keep(*parts);
  }
  keep(roundedParts());
  if (!m_best || rateOf(*m_best).isZero()) {
    return std::nullopt;
  }
  m_best->numerators.resize(m_trees.size(), 0);
  return write();
}

}  // namespace

std::optional<ColumnTrees> treesByColumns(const fabric::Fabric& fabric, const TreeDemand& demand,
                                          const std::optional<TreeMixture>& mixture, const Bandwidth& upper,
                                          const Progress& progress) {
  const TreeGraph graph = treeGraph(fabric);
  if (demand.ownCopies || !isMirrored(graph, demand)) {
    return std::nullopt;
  }
  try {
    return ColumnSearch(fabric, graph, demand, mixture, upper, progress).run();
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace coppice::forestcoll
