// SPDX-License-Identifier: Apache-2.0
#include "taccl/flow_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "base/checked.hpp"
#include "lp/simplex.hpp"

namespace coppice::taccl {
namespace {

using Weights = std::vector<std::int64_t>;

constexpr Int128 kNoRoute = Int128{1} << 120;
constexpr int kMaxRounds = 200;
/// In larger nodes, trees to all GPUs take too long.
constexpr int kMaxTreeGpus = 32;
/// With more machines, up to symmetry, the dense simplex is slow.
constexpr std::size_t kMaxColumns = 600;
/// What the weights of the program sum to.
constexpr std::int64_t kWeightSum = 1 << 20;
/// Largest coefficient of the program.
constexpr std::int64_t kMaxLoad = std::int64_t{1} << 40;
constexpr std::int64_t kMaxWeight = std::int64_t{1} << 32;
constexpr double kClose = 1e-9;

/// The cheapest trees of all chunks for some weights.
struct CheapestTrees {
  Int128 cost = 0;
  std::vector<Int128> load;  ///< by column
};

/// From one GPU to all of its node.
struct Reach {
  std::vector<Int128> distance;  ///< by GPU of the node
  std::vector<int> linkInto;     ///< by GPU of the node, along shortest ways
  bool hasTree = false;          ///< the members below are set
  Int128 treeCost = kNoRoute;    ///< of the cheapest tree
  std::vector<int> treeLinks;
};

class Program {
public:
  Program(const Problem& problem, const Progress& progress)
      : m_problem(problem), m_model(*problem.model), m_progress(progress), m_max(problem.model->maxTogether) {
    chooseColumns();
    Int128 longest = 1;
    m_local.resize(m_model.gpus());
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      // A message of `max` chunks pays alpha once; times are multiplied by `max` so that they are whole numbers.
      const bool isRemote = m_model.links[i].isRemote;
      const Int128 alpha = problem.alpha[i];
      m_sendTime.push_back(isRemote ? alpha + Int128{m_max} * problem.beta[i]
                                    : Int128{m_max} * (alpha + problem.beta[i]));
      longest = std::max(longest, m_sendTime.back());
      if (!isRemote) {
        m_local[m_model.links[i].from].push_back(static_cast<int>(i));
      }
    }
    m_unit = longest * static_cast<Int128>(problem.items.size()) / kMaxLoad + 1;
  }

  FlowBound run(Ticks known) {
    if (m_columnCount == 0 || m_columnCount > kMaxColumns || needsLargeTrees()) {
      return {};
    }
    lp::Simplex simplex = makeSimplex();
    Weights weights(m_columnCount, 1);
    const auto stop = [this] { return m_progress.isCancelled(); };
    for (int round = 0; round < kMaxRounds; ++round) {
      simplex.addRow(rowOf(ask(weights)));
      if (simplex.solve(stop) != lp::SimplexStatus::optimal) {
        break;
      }
      // No weights prove more than this, as far as floating point tells.
      const double max = simplex.value(static_cast<int>(m_columnCount)) * static_cast<double>(m_unit) /
                         static_cast<double>(kWeightSum * m_max);
      if (max <= static_cast<double>(std::max(known, m_best.time)) + kClose * max) {
        break;
      }
      weights = vertexOf(simplex);
    }
    return std::move(m_best);
  }

private:
  /// Machine orbits, without links that share a port: that is busy whenever they are.
  void chooseColumns() {
    std::vector<char> isShared(m_model.links.size());
    for (const Machine& machine : m_model.machines) {
      for (std::size_t i = 0; i < machine.links.size() && machine.links.size() > 1; ++i) {
        isShared[machine.links[i]] = 1;
      }
    }
    m_columnOf.assign(m_problem.machineCount, -1);
    for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
      const std::vector<int>& links = m_model.machines[i].links;
      int& column = m_columnOf[m_problem.machineOrbit[i]];
      if (column < 0 && (links.size() > 1 || isShared[links.front()] == 0)) {
        column = static_cast<int>(m_columnCount++);
      }
    }
    for (const std::vector<int>& machines : m_problem.linkMachines) {
      std::vector<int>& columns = m_linkColumns.emplace_back();
      for (const int machine : machines) {
        if (m_columnOf[machine] >= 0) {
          columns.push_back(m_columnOf[machine]);
        }
      }
    }
  }

  [[nodiscard]] bool needsLargeTrees() const {
    return m_model.gpusPerNode > kMaxTreeGpus &&
           std::any_of(m_problem.allChunks.begin(), m_problem.allChunks.end(),
                       [](const Chunk& chunk) { return chunk.targets.size() > 1; });
  }

  /// Weights of a given sum and, in the last column, the cost that they prove.
  [[nodiscard]] lp::Simplex makeSimplex() const {
    std::vector<lp::Column> columns(
        m_columnCount, {.lower = 0, .upper = kWeightSum, .cost = 0, .scale = static_cast<double>(kWeightSum)});
    columns.push_back({.lower = 0, .upper = std::numeric_limits<std::int64_t>::max() / 4, .cost = 1, .scale = 1e9});
    lp::Simplex simplex(std::move(columns));
    lp::Row sum{{}, kWeightSum, kWeightSum};
    for (std::size_t column = 0; column < m_columnCount; ++column) {
      sum.terms.push_back({static_cast<int>(column), 1});
    }
    simplex.addRow(std::move(sum));
    return simplex;
  }

  /// These trees cost no more at any weights.
  [[nodiscard]] lp::Row rowOf(const CheapestTrees& trees) const {
    lp::Row row{{{static_cast<int>(m_columnCount), 1}}, {}, 0};
    for (std::size_t column = 0; column < m_columnCount; ++column) {
      const auto load = static_cast<std::int64_t>((trees.load[column] + m_unit - 1) / m_unit);
      if (load != 0) {
        row.terms.push_back({static_cast<int>(column), -load});
      }
    }
    return row;
  }

  [[nodiscard]] Weights vertexOf(const lp::Simplex& simplex) const {
    Weights weights;
    for (std::size_t column = 0; column < m_columnCount; ++column) {
      const double share = std::max(0.0, simplex.value(static_cast<int>(column))) / static_cast<double>(kWeightSum);
      weights.push_back(std::llround(share * static_cast<double>(kMaxWeight)));
    }
    return weights;
  }

  /// The cheapest trees; the best weights are kept.
  CheapestTrees ask(Weights weights) {
    std::int64_t divisor = 0;
    for (const std::int64_t weight : weights) {
      divisor = std::gcd(divisor, weight);
    }
    Int128 sum = 0;
    for (std::int64_t& weight : weights) {
      sum += weight /= divisor;
    }
    m_cost.clear();
    for (std::size_t i = 0; i < m_sendTime.size(); ++i) {
      Int128 weight = 0;
      for (const int column : m_linkColumns[i]) {
        weight += weights[column];
      }
      m_cost.push_back(m_sendTime[i] * weight);
    }
    m_reach.assign(m_model.gpus(), std::nullopt);
    CheapestTrees trees{0, std::vector<Int128>(m_columnCount)};
    std::size_t block = 0;
    for (std::size_t chunk = 0; chunk < m_problem.chunks.size(); ++chunk) {
      addChunk(static_cast<int>(chunk), block, trees);
    }
    if (const Ticks time = narrow64((trees.cost + sum * m_max - 1) / (sum * m_max)); time > m_best.time) {
      m_best.time = time;
      m_best.weights.clear();
      for (const int orbit : m_problem.machineOrbit) {
        m_best.weights.push_back(m_columnOf[orbit] < 0 ? 0 : weights[m_columnOf[orbit]]);
      }
    }
    return trees;
  }

  void addChunk(int chunk, std::size_t& block, CheapestTrees& trees) {
    const int first = m_problem.firstItem[chunk];
    const int origin = m_problem.items[first].gpu;
    std::vector<int> here;
    for (int item = first; item < m_problem.firstItem[chunk + 1]; ++item) {
      if (m_problem.items[item].isTarget && m_problem.items[item].block < 0) {
        here.push_back(m_problem.items[item].gpu);
      }
    }
    addWays(origin, here, trees);
    for (; block < m_problem.blocks.size() && m_problem.blocks[block].chunk == chunk; ++block) {
      const Block& each = m_problem.blocks[block];
      std::vector<int> there;
      for (const int item : each.items) {
        if (m_problem.items[item].isTarget) {
          there.push_back(m_problem.items[item].gpu);
        }
      }
      // With more targets, these are in its own node too, and its sender has the chunk in any case.
      const bool isOnly = m_problem.allChunks[m_problem.chunks[chunk]].targets.size() == 1;
      Int128 min = kNoRoute;
      int entry = -1;
      for (const Option& option : each.entries) {
        const Link& link = m_model.links[option.link];
        const Int128 cost = (isOnly ? distance(origin, link.from) : 0) + m_cost[option.link] + costOf(link.to, there);
        if (cost < min) {
          min = cost;
          entry = option.link;
        }
      }
      if (entry < 0) {
        continue;
      }
      addLink(entry, trees);
      if (isOnly) {
        addWays(origin, {m_model.links[entry].from}, trees);
      }
      addWays(m_model.links[entry].to, there, trees);
    }
  }

  void addLink(int link, CheapestTrees& trees) const {
    trees.cost += m_cost[link];
    for (const int column : m_linkColumns[link]) {
      trees.load[column] += m_sendTime[link];
    }
  }

  [[nodiscard]] int placeOf(int gpu) const { return gpu % m_model.gpusPerNode; }
  [[nodiscard]] Int128 distance(int from, int to) { return reachOf(from).distance[placeOf(to)]; }

  [[nodiscard]] bool isAllOf(int from, const std::vector<int>& targets) const {
    const auto others = std::count_if(targets.begin(), targets.end(), [&](int target) { return target != from; });
    return others > 0 && others + 1 == m_model.gpusPerNode;
  }

  [[nodiscard]] int farthest(int from, const std::vector<int>& targets) {
    return *std::max_element(targets.begin(), targets.end(),
                             [&](int a, int b) { return distance(from, a) < distance(from, b); });
  }

  /// The minimum cost from a GPU to targets of its node: of a tree to all, or of a way to the farthest of fewer.
  Int128 costOf(int from, const std::vector<int>& targets) {
    if (targets.empty()) {
      return 0;
    }
    return isAllOf(from, targets) ? treeOf(from).treeCost : distance(from, farthest(from, targets));
  }

  void addWays(int from, const std::vector<int>& targets, CheapestTrees& trees) {
    if (targets.empty() || costOf(from, targets) >= kNoRoute) {
      return;
    }
    if (isAllOf(from, targets)) {
      for (const int link : treeOf(from).treeLinks) {
        addLink(link, trees);
      }
      return;
    }
    for (int gpu = farthest(from, targets); gpu != from;) {
      const int link = reachOf(from).linkInto[placeOf(gpu)];
      addLink(link, trees);
      gpu = m_model.links[link].from;
    }
  }

  const Reach& reachOf(int from) {
    std::optional<Reach>& known = m_reach[from];
    if (known) {
      return *known;
    }
    known.emplace();
    known->distance.assign(m_model.gpusPerNode, kNoRoute);
    known->linkInto.assign(known->distance.size(), -1);
    known->distance[placeOf(from)] = 0;
    using Entry = std::pair<Int128, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.emplace(0, from);
    while (!queue.empty()) {
      const auto [length, gpu] = queue.top();
      queue.pop();
      if (length > known->distance[placeOf(gpu)]) {
        continue;
      }
      for (const int link : m_local[gpu]) {
        const int to = m_model.links[link].to;
        if (const Int128 next = length + m_cost[link]; next < known->distance[placeOf(to)]) {
          known->distance[placeOf(to)] = next;
          known->linkInto[placeOf(to)] = link;
          queue.emplace(next, to);
        }
      }
    }
    return *known;
  }

  const Reach& treeOf(int root) {
    static_cast<void>(reachOf(root));
    Reach& reach = *m_reach[root];
    if (reach.hasTree) {
      return reach;
    }
    reach.hasTree = true;
    const int first = m_model.nodeOf(root) * m_model.gpusPerNode;
    std::vector<TreeArc> arcs;
    std::vector<int> links;
    for (int gpu = first; gpu < first + m_model.gpusPerNode; ++gpu) {
      for (const int link : m_local[gpu]) {
        arcs.push_back({placeOf(gpu), placeOf(m_model.links[link].to), m_cost[link]});
        links.push_back(link);
      }
    }
    const std::vector<int> tree = arborescence(m_model.gpusPerNode, placeOf(root), arcs);
    if (tree.empty()) {
      return reach;
    }
    reach.treeCost = 0;
    for (const int arc : tree) {
      reach.treeCost += arcs[arc].cost;
      reach.treeLinks.push_back(links[arc]);
    }
    return reach;
  }

  const Problem& m_problem;
  const Model& m_model;
  const Progress& m_progress;
  int m_max;
  std::vector<int> m_columnOf;  ///< by machine orbit; -1 = none
  std::size_t m_columnCount = 0;
  std::vector<std::vector<int>> m_linkColumns;  ///< by link
  std::vector<Int128> m_sendTime;               ///< by link, ticks times `max`
  std::vector<std::vector<int>> m_local;        ///< by GPU: links to others of its node
  Int128 m_unit = 1;                            ///< of loads in the program
  std::vector<Int128> m_cost;                   ///< by link, at the present weights
  std::vector<std::optional<Reach>> m_reach;    ///< by GPU, at the present weights
  FlowBound m_best;
};

/// The nodes of the cycles that the arcs `into` make, each with the number of its cycle; others get numbers of their
/// own. Returns how many numbers there are; as many as nodes where there is no cycle.
int numberCycles(int root, const std::vector<TreeArc>& arcs, const std::vector<int>& into, std::vector<int>& number) {
  const int nodes = static_cast<int>(into.size());
  number.assign(into.size(), -1);
  std::vector<int> seenBy(into.size(), -1);
  int count = 0;
  for (int start = 0; start < nodes; ++start) {
    int node = start;
    while (node != root && number[node] < 0 && seenBy[node] < 0) {
      seenBy[node] = start;
      node = arcs[into[node]].from;
    }
    if (node != root && number[node] < 0 && seenBy[node] == start) {
      for (; number[node] < 0; node = arcs[into[node]].from) {
        number[node] = count;
      }
      ++count;
    }
  }
  for (int& each : number) {
    each = each < 0 ? count++ : each;
  }
  return count;
}

}  // namespace

std::vector<int> arborescence(int nodes, int root, const std::vector<TreeArc>& arcs) {
  std::vector<int> into(static_cast<std::size_t>(nodes), -1);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const TreeArc& arc = arcs[i];
    if (arc.to != root && arc.from != arc.to && (into[arc.to] < 0 || arc.cost < arcs[into[arc.to]].cost)) {
      into[arc.to] = static_cast<int>(i);
    }
  }
  for (int node = 0; node < nodes; ++node) {
    if (node != root && into[node] < 0) {
      return {};
    }
  }
  std::vector<int> number;
  const int count = numberCycles(root, arcs, into, number);
  std::vector<char> isEntered(static_cast<std::size_t>(nodes));
  std::vector<int> tree;
  if (count < nodes) {
    // Each cycle becomes one node; an arc into it replaces one of its arcs.
    std::vector<TreeArc> fewer;
    std::vector<int> which;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const TreeArc& arc = arcs[i];
      if (arc.to != root && number[arc.from] != number[arc.to]) {
        fewer.push_back({number[arc.from], number[arc.to], arc.cost - arcs[into[arc.to]].cost});
        which.push_back(static_cast<int>(i));
      }
    }
    for (const int arc : arborescence(count, number[root], fewer)) {
      tree.push_back(which[arc]);
      isEntered[arcs[which[arc]].to] = 1;
    }
    if (tree.empty() && count > 1) {
      return {};
    }
  }
  // Where a number stands for one node, the arc into that one was chosen above.
  std::vector<int> members(static_cast<std::size_t>(count));
  for (const int each : number) {
    ++members[each];
  }
  for (int node = 0; node < nodes; ++node) {
    if (node != root && isEntered[node] == 0 && (count == nodes || members[number[node]] > 1)) {
      tree.push_back(into[node]);
    }
  }
  return tree;
}

FlowBound flowBound(const Problem& problem, Ticks known, const Progress& progress) {
  return Program(problem, progress).run(known);
}

}  // namespace coppice::taccl
