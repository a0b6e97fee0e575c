// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/tree_packing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/low_packing.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;
using Trees = std::vector<PackedTree>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::vector<int> allNodes(int count) {
  std::vector<int> nodes(at(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Arcs leaving each node.
struct OutArcs {
  std::vector<int> start;
  std::vector<int> arc;

  explicit OutArcs(const PackingProblem& problem) {
    start.assign(at(problem.nodeCount) + 1, 0);
    for (const TreeArc& a : problem.arcs) {
      ++start[at(a.tail) + 1];
    }
    for (std::size_t v = 0; v + 1 < start.size(); ++v) {
      start[v + 1] += start[v];
    }
    arc.resize(problem.arcs.size());
    std::vector<int> fill(start.begin(), start.end() - 1);
    for (std::size_t i = 0; i < problem.arcs.size(); ++i) {
      arc[at(fill[at(problem.arcs[i].tail)]++)] = static_cast<int>(i);
    }
  }
  [[nodiscard]] std::span<const int> of(int node) const {
    return {arc.data() + start[at(node)], at(start[at(node) + 1] - start[at(node)])};
  }
};

/// Packs a problem without useful tight sets.
class AtomicPacking {
public:
  AtomicPacking(const PackingProblem& problem, const Progress& progress, const PackingOptions& options)
      : m_problem(problem), m_progress(progress), m_options(options), m_out(problem) {
    m_remaining.reserve(problem.arcs.size());
    for (const TreeArc& arc : problem.arcs) {
      m_remaining.push_back(arc.capacity);
    }
    m_supply = problem.supply;
  }

  Trees run() {
    if (m_options.heuristics && packGreedily()) {
      return std::move(m_trees);
    }
    m_oracle = std::make_unique<Oracle>(m_problem.nodeCount, m_problem.arcs, m_supply, allNodes(m_problem.nodeCount));
    indexPool();
    packChecked();
    return std::move(m_trees);
  }

private:
  /// A cut with its slack in(Q) + r(Q) - K in the current state.
  struct PoolSet {
    std::vector<char> contains;
    int64_t slack = 0;
    // While a tree is built:
    bool entered = false;  // the tree has a node in Q
    int64_t entries = 0;   // arcs of the tree that enter Q
    bool holdsRoot = false;
  };

  struct Partial {
    int root = 0;
    int64_t multiplicity = 0;
    std::vector<int> arcs;
    std::vector<char> reached;
    bool isComplete = false;
  };

  [[nodiscard]] int nodeCount() const { return m_problem.nodeCount; }

  /// Breadth-first tree over arcs with at least `multiplicity` left; the widest arc into each new node.
  bool growGreedy(int root, int64_t multiplicity, std::vector<int>& arcs) {
    arcs.clear();
    std::vector<char> reached(at(nodeCount()), 0);
    std::vector<int> best(at(nodeCount()), -1);
    reached[at(root)] = 1;
    std::vector<int> frontier{root};
    while (!frontier.empty() && arcs.size() + 1 < at(nodeCount())) {
      std::vector<int> next;
      for (const int node : frontier) {
        for (const int arc : m_out.of(node)) {
          const int head = m_problem.arcs[at(arc)].head;
          if (reached[at(head)] != 0 || m_remaining[at(arc)] < multiplicity) {
            continue;
          }
          if (best[at(head)] < 0) {
            next.push_back(head);
            best[at(head)] = arc;
          } else if (m_remaining[at(arc)] > m_remaining[at(best[at(head)])]) {
            best[at(head)] = arc;
          }
        }
      }
      for (const int node : next) {
        reached[at(node)] = 1;
        arcs.push_back(best[at(node)]);
      }
      frontier = std::move(next);
    }
    return arcs.size() + 1 == at(nodeCount());
  }

  /// Trees one after the other without looking at cuts. If all fit, no cut condition is needed.
  bool packGreedily() {
    std::vector<int> arcs;
    for (int root = 0; root < nodeCount(); ++root) {
      throwIfCancelled(m_progress);
      while (m_supply[at(root)] > 0) {
        int64_t multiplicity = m_supply[at(root)];
        while (!growGreedy(root, multiplicity, arcs)) {
          multiplicity /= 2;
          if (multiplicity == 0) {
            m_trees.clear();
            m_supply = m_problem.supply;
            for (std::size_t i = 0; i < m_remaining.size(); ++i) {
              m_remaining[i] = m_problem.arcs[i].capacity;
            }
            return false;
          }
        }
        for (const int arc : arcs) {
          m_remaining[at(arc)] -= multiplicity;
        }
        m_supply[at(root)] -= multiplicity;
        m_trees.push_back({root, multiplicity, arcs});
      }
    }
    return true;
  }

  void apply(const Partial& tree, int64_t sign) {
    const int64_t amount = sign * tree.multiplicity;
    for (const int arc : tree.arcs) {
      m_remaining[at(arc)] -= amount;
      m_oracle->setCapacity(arc, m_remaining[at(arc)]);
    }
    m_supply[at(tree.root)] -= amount;
    m_oracle->setSupply(tree.root, m_supply[at(tree.root)]);
  }

  /// Adds violated sets to the pool with their slack in the present (feasible) state.
  void learn(const std::vector<flow::Violation<int64_t>>& violated) {
    constexpr std::size_t kMostSets = 512;
    for (const auto& violation : violated) {
      PoolSet set;
      set.contains.assign(at(nodeCount()), 0);
      int64_t inside = 0;
      for (const int node : violation.nodes) {
        set.contains[at(node)] = 1;
        inside += m_supply[at(node)];
      }
      set.slack = m_oracle->entering(set.contains) + inside - m_oracle->target();
      if (m_pool.size() >= kMostSets) {
        m_pool.erase(m_pool.begin());
      }
      m_pool.push_back(std::move(set));
    }
    indexPool();
  }

  void indexPool() {
    m_setsOf.assign(at(nodeCount()), {});
    for (std::size_t i = 0; i < m_pool.size(); ++i) {
      for (int node = 0; node < nodeCount(); ++node) {
        if (m_pool[i].contains[at(node)] != 0) {
          m_setsOf[at(node)].push_back(static_cast<int>(i));
        }
      }
    }
  }

  /// Slack changes when a whole tree is taken out: its entries but the free first one.
  void chargePool(const Partial& tree, int64_t sign) {
    for (PoolSet& set : m_pool) {
      int64_t entries = 0;
      for (const int arc : tree.arcs) {
        const TreeArc& a = m_problem.arcs[at(arc)];
        entries += set.contains[at(a.head)] != 0 && set.contains[at(a.tail)] == 0 ? 1 : 0;
      }
      const int64_t free = set.contains[at(tree.root)] != 0 ? 0 : 1;
      set.slack -= sign * tree.multiplicity * (entries - free);
    }
  }

  [[nodiscard]] bool mayAdd(int arc, int64_t multiplicity) const {
    const TreeArc& a = m_problem.arcs[at(arc)];
    for (const int i : m_setsOf[at(a.head)]) {
      const PoolSet& set = m_pool[at(i)];
      if (set.contains[at(a.tail)] == 0 && (set.holdsRoot || set.entered)) {
        const int64_t costly = set.entries + (set.holdsRoot ? 1 : 0);
        if (multiplicity * costly > set.slack) {
          return false;
        }
      }
    }
    return true;
  }

  void noteAdded(int arc) {
    const TreeArc& a = m_problem.arcs[at(arc)];
    for (const int i : m_setsOf[at(a.head)]) {
      PoolSet& set = m_pool[at(i)];
      if (set.contains[at(a.tail)] == 0) {
        ++set.entries;
      }
      set.entered = true;
    }
  }

  /// Breadth-first tree that respects the pool. Incomplete when stuck.
  Partial build(int root, int64_t multiplicity) {
    m_progress.spend(m_problem.arcs.size());
    Partial tree{root, multiplicity, {}, std::vector<char>(at(nodeCount()), 0), false};
    for (PoolSet& set : m_pool) {
      set.holdsRoot = set.contains[at(root)] != 0;
      set.entered = set.holdsRoot;
      set.entries = 0;
    }
    tree.reached[at(root)] = 1;
    struct Candidate {
      int64_t remaining;
      int arc;
    };
    std::vector<int> frontier{root};
    std::vector<Candidate> candidates;
    while (!frontier.empty() && tree.arcs.size() + 1 < at(nodeCount())) {
      candidates.clear();
      for (const int node : frontier) {
        for (const int arc : m_out.of(node)) {
          if (tree.reached[at(m_problem.arcs[at(arc)].head)] == 0 && m_remaining[at(arc)] >= multiplicity) {
            candidates.push_back({m_remaining[at(arc)], arc});
          }
        }
      }
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.remaining > b.remaining; });
      std::vector<int> next;
      for (const Candidate& candidate : candidates) {
        const int head = m_problem.arcs[at(candidate.arc)].head;
        if (tree.reached[at(head)] == 0 && mayAdd(candidate.arc, multiplicity)) {
          tree.reached[at(head)] = 1;
          tree.arcs.push_back(candidate.arc);
          noteAdded(candidate.arc);
          next.push_back(head);
        }
      }
      frontier = std::move(next);
    }
    tree.isComplete = tree.arcs.size() + 1 == at(nodeCount());
    return tree;
  }

  void keep(Partial&& tree) { m_trees.push_back({tree.root, tree.multiplicity, std::move(tree.arcs)}); }

  void packChecked() {
    std::size_t batchSize = 1;
    const int64_t total = std::max<int64_t>(1, m_oracle->target());
    int root = 0;
    while (true) {
      throwIfCancelled(m_progress);
      m_progress.report("packing", 1.0 - static_cast<double>(m_oracle->target()) / static_cast<double>(total));
      while (root < nodeCount() && m_supply[at(root)] == 0) {
        ++root;
      }
      if (root == nodeCount()) {
        return;
      }
      if (!m_options.heuristics) {
        packExactly(root);
        continue;
      }
      // Build a batch, checking nothing but the pool; then one pass for the lot.
      std::vector<Partial> batch;
      bool stuck = false;
      int next = root;
      while (batch.size() < batchSize && next < nodeCount()) {
        if (m_supply[at(next)] == 0) {
          ++next;
          continue;
        }
        Partial tree = build(next, std::min(m_supply[at(next)], m_grain));
        if (!tree.isComplete) {
          stuck = true;
          break;
        }
        apply(tree, 1);
        chargePool(tree, 1);
        batch.push_back(std::move(tree));
      }
      if (batch.empty() && stuck) {
        packOne(root);
        batchSize = std::max<std::size_t>(1, batchSize / 2);
        continue;
      }
      const auto violated = m_oracle->violations(32, m_progress);
      if (violated.empty()) {
        for (Partial& tree : batch) {
          keep(std::move(tree));
        }
        batchSize = stuck ? std::max<std::size_t>(1, batchSize / 2) : std::min<std::size_t>(batchSize * 2, 4096);
        if (!stuck && batch.size() >= m_coarsenAfter) {
          coarsen();
          m_coarsenAfter = std::min<std::size_t>(m_coarsenAfter + 64, 512);  // vain attempts cost more than they gain
        }
        continue;
      }
      for (std::size_t i = batch.size(); i-- > 0;) {
        apply(batch[i], -1);
        chargePool(batch[i], -1);
      }
      learn(violated);
      if (batch.size() == 1) {
        packOne(root);
      }
      batchSize = std::max<std::size_t>(1, batch.size() / 2);
    }
  }

  /// The multiplicity that trees are tried with. It follows what succeeded, so that a fabric that only admits thin
  /// trees is not asked for thick ones at every root; from time to time it doubles again.
  void adaptGrain(int64_t tried, int64_t succeeded) {
    constexpr int kSmall = 64;  // below this there is time to look for thick trees at every root
    if (nodeCount() < kSmall) {
      return;
    }
    if (succeeded == tried) {
      m_disappointments = 0;
      coarsen();
    } else if (++m_disappointments >= 3) {
      m_grain = succeeded;
    }
  }
  void coarsen() {
    if (m_grain <= std::numeric_limits<int64_t>::max() / 2) {
      m_grain *= 2;
    }
  }

  /// One batch of equal trees at the root, by rebuilding from what failed checks teach; exact as the last resort.
  void packOne(int root) {
    int64_t multiplicity = std::min(m_supply[at(root)], m_grain);
    const int64_t first = multiplicity;
    for (int attempt = 0; attempt < 40 && multiplicity > 0; ++attempt) {
      throwIfCancelled(m_progress);
      Partial tree = build(root, multiplicity);
      if (tree.isComplete) {
        apply(tree, 1);
        const auto violated = m_oracle->violations(32, m_progress);
        if (violated.empty()) {
          adaptGrain(first, multiplicity);
          chargePool(tree, 1);
          keep(std::move(tree));
          return;
        }
        apply(tree, -1);
        const std::size_t before = m_pool.size();
        learn(violated);
        // The new cuts say how many copies of this very tree they allow.
        int64_t allowed = multiplicity;
        for (std::size_t i = before < m_pool.size() ? m_pool.size() - violated.size() : 0; i < m_pool.size(); ++i) {
          const PoolSet& set = m_pool[i];
          int64_t entries = 0;
          for (const int arc : tree.arcs) {
            const TreeArc& a = m_problem.arcs[at(arc)];
            entries += set.contains[at(a.head)] != 0 && set.contains[at(a.tail)] == 0 ? 1 : 0;
          }
          const int64_t costly = entries - (set.contains[at(root)] != 0 ? 0 : 1);
          if (costly > 0) {
            allowed = std::min(allowed, set.slack / costly);
          }
        }
        if (allowed < multiplicity && allowed > 0 && allowed >= multiplicity / 2) {
          tree.multiplicity = allowed;
          apply(tree, 1);
          if (m_oracle->isFeasible(m_progress)) {
            adaptGrain(first, allowed);
            chargePool(tree, 1);
            keep(std::move(tree));
            return;
          }
          apply(tree, -1);
        }
        continue;
      }
      // Stuck: adding (x, y) can only break a set that holds y, misses x and was met before, so the sinks in the tree
      // show every set that the partial tree broke.
      std::vector<int> sinks;
      for (int node = 0; node < nodeCount(); ++node) {
        if (tree.reached[at(node)] != 0) {
          sinks.push_back(node);
        }
      }
      apply(tree, 1);
      const auto violated = m_oracle->violationsAt(sinks, 32);
      apply(tree, -1);
      if (violated.empty()) {
        multiplicity /= 2;
      } else {
        learn(violated);
      }
    }
    packExactly(root);
  }

  /// Algorithm 4 for one tree: edge by edge with the exact mu (Theorem 32). One max flow into y with the supplies of
  /// all other trees tells how many of the copies may take (x, y): a set that holds y, misses x and was met needs in(Q)
  /// + r(Q) from the others alone.
  void packExactly(int root) {
    Partial tree{root, m_supply[at(root)], {}, std::vector<char>(at(nodeCount()), 0), false};
    // From here on the copies under construction are no longer supply.
    m_supply[at(root)] = 0;
    m_oracle->setSupply(root, 0);
    tree.reached[at(root)] = 1;
    std::vector<int> order{root};
    std::vector<char> refused(m_problem.arcs.size(), 0);  // mu = 0 stays 0 while the multiplicity does not change
    while (order.size() < at(nodeCount())) {
      throwIfCancelled(m_progress);
      m_progress.spend(m_oracle->takeWork());
      int bestArc = -1;
      int64_t bestAmount = 0;
      for (std::size_t i = 0; i < order.size() && bestAmount < tree.multiplicity; ++i) {
        for (const int arc : m_out.of(order[i])) {
          const int head = m_problem.arcs[at(arc)].head;
          if (tree.reached[at(head)] != 0 || refused[at(arc)] != 0) {
            continue;
          }
          const int64_t amount = addable(arc, tree.multiplicity);
          if (amount == 0) {
            refused[at(arc)] = 1;
          }
          if (amount > bestAmount) {
            bestAmount = amount;
            bestArc = arc;
            if (amount == tree.multiplicity) {
              break;
            }
          }
        }
      }
      if (bestArc < 0) {
        throw Failure{{ErrorCode::internal, "tree packing found no arc to add, which the packing theorem excludes",
                       "report this fabric"}};
      }
      if (bestAmount < tree.multiplicity) {
        // Fewer copies go on; the others start anew, which is sound because both halves were feasible.
        const int64_t back = tree.multiplicity - bestAmount;
        for (const int arc : tree.arcs) {
          m_remaining[at(arc)] += back;
          m_oracle->setCapacity(arc, m_remaining[at(arc)]);
        }
        m_supply[at(root)] += back;
        m_oracle->setSupply(root, m_supply[at(root)]);
        tree.multiplicity = bestAmount;
        std::fill(refused.begin(), refused.end(), char{0});
      }
      m_remaining[at(bestArc)] -= tree.multiplicity;
      m_oracle->setCapacity(bestArc, m_remaining[at(bestArc)]);
      tree.arcs.push_back(bestArc);
      const int head = m_problem.arcs[at(bestArc)].head;
      tree.reached[at(head)] = 1;
      order.push_back(head);
    }
    chargePool(tree, 1);
    keep(std::move(tree));
  }

  /// mu of (B.4) for the partial tree.
  int64_t addable(int arc, int64_t multiplicity) {
    const int64_t most = std::min(multiplicity, m_remaining[at(arc)]);
    if (most == 0) {
      return 0;
    }
    m_oracle->setCapacity(arc, m_remaining[at(arc)] - most);
    const int64_t target = m_oracle->target();
    const int64_t flow = m_oracle->flowInto(m_problem.arcs[at(arc)].head, target);
    m_oracle->undo();
    m_oracle->setCapacity(arc, m_remaining[at(arc)]);
    return std::max<int64_t>(0, most - (target - flow));
  }

  const PackingProblem& m_problem;
  const Progress& m_progress;
  const PackingOptions& m_options;
  OutArcs m_out;
  std::vector<int64_t> m_remaining;  // by arc
  std::vector<int64_t> m_supply;     // trees not yet built, by root
  std::unique_ptr<Oracle> m_oracle;  // capacities and supplies follow the two above
  std::vector<PoolSet> m_pool;
  std::vector<std::vector<int>> m_setsOf;  // pool indices by node
  Trees m_trees;
  int64_t m_grain = std::numeric_limits<int64_t>::max();
  int m_disappointments = 0;        // in a row
  std::size_t m_coarsenAfter = 64;  // trees in one batch that passed
};

class Packing {
public:
  Packing(const Progress& progress, const PackingOptions& options) : m_progress(progress), m_options(options) {}

  Trees solve(const PackingProblem& problem) {
    throwIfCancelled(m_progress);
    if (problem.nodeCount == 1) {
      return problem.supply[0] > 0 ? Trees{{0, problem.supply[0], {}}} : Trees{};
    }
    constexpr std::size_t kSparse = 16;  // arcs per node; few tight sets in anything sparser
    if (problem.arcs.size() <= kSparse * at(problem.nodeCount)) {
      if (auto low = solveLow(problem, 0)) {
        return *std::move(low);
      }
    }
    if (m_options.decompose && problem.nodeCount > 2) {
      const std::vector<std::vector<int>> family = tightFamily(problem);
      if (!family.empty()) {
        return decompose(problem, family);
      }
    }
    return solveAtomic(problem);
  }

private:
  std::optional<Trees> solveLow(const PackingProblem& problem, int effort) {
    if (!m_options.heuristics || m_options.heightEffort == 0) {
      return std::nullopt;
    }
    return packLow(problem, m_progress, {.mostHeight = m_options.mostHeight, .effort = effort});
  }

  /// Disjoint tight sets with 2 .. n-1 nodes.
  std::vector<std::vector<int>> tightFamily(const PackingProblem& problem) {
    const int n = problem.nodeCount;
    Oracle oracle(n, problem.arcs, problem.supply, allNodes(n));
    std::vector<char> used(at(n), 0);
    std::vector<std::vector<int>> family;
    std::vector<std::vector<int>> near(at(n));
    for (const TreeArc& arc : problem.arcs) {
      near[at(arc.head)].push_back(arc.tail);
    }
    const auto take = [&](std::vector<int> set) {
      const bool isFree = std::all_of(set.begin(), set.end(), [&](int node) { return used[at(node)] == 0; });
      if (set.size() < 2 || set.size() >= at(n) || !isFree) {
        return false;
      }
      for (const int node : set) {
        used[at(node)] = 1;
      }
      family.push_back(std::move(set));
      return true;
    };
    for (const int sink : oracle.sinkOrder()) {
      throwIfCancelled(m_progress);
      if (oracle.flowInto(sink, oracle.target()) < oracle.target()) {
        throw Failure{{ErrorCode::internal, "tree packing was given capacities that are not feasible"}};
      }
      if (used[at(sink)] == 0) {
        std::vector<int> seeds{sink};
        bool isClosed = false;
        std::vector<int> set = oracle.reaching(seeds, isClosed);
        if (isClosed && set.size() > 1) {
          take(std::move(set));
        } else if (isClosed) {
          int tries = 0;
          for (const int other : near[at(sink)]) {
            if (used[at(other)] != 0 || ++tries > 4) {
              continue;
            }
            seeds = {sink, other};
            std::vector<int> pair = oracle.reaching(seeds, isClosed);
            if (isClosed && take(std::move(pair))) {
              break;
            }
          }
        }
      }
      oracle.undo();
      oracle.absorb(sink);
    }
    return family;
  }

  /// Equal inner problems (equal bytes) are solved once.
  std::shared_ptr<const Trees> solveShared(const PackingProblem& problem) {
    std::string key;
    const auto append = [&](int64_t value) {
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      key.append(bytes, sizeof value);
    };
    append(problem.nodeCount);
    for (const int64_t supply : problem.supply) {
      append(supply);
    }
    for (const TreeArc& arc : problem.arcs) {
      append(int64_t{arc.tail} * problem.nodeCount + arc.head);
      append(arc.capacity);
    }
    const auto found = m_memo.find(key);
    if (found != m_memo.end()) {
      return found->second;
    }
    auto trees = std::make_shared<const Trees>(solve(problem));
    m_memo.emplace(std::move(key), trees);
    return trees;
  }

  /// One contracted set Q with its own solution.
  struct Inner {
    std::vector<int> nodes;  // of the outer-level problem
    std::vector<int> arcOf;  // inner arc -> arc of the outer-level problem
    std::shared_ptr<const Trees> trees;
    std::vector<int64_t> left;              // copies of each inner tree not yet used
    std::vector<std::vector<int>> treesAt;  // by inner node: trees rooted there
    std::vector<int64_t> ownLeft;           // by inner node: supply not yet used as a root
  };

  /// A tight set Q has in(Q) = K - r(Q), so every outer tree that starts outside enters Q exactly once, and any inner
  /// tree rooted at its entry node may continue it: the outer problem with Q contracted and the inner problem with the
  /// entering capacity added to the supplies are solved apart and composed freely.
  Trees decompose(const PackingProblem& problem, const std::vector<std::vector<int>>& family) {
    const int n = problem.nodeCount;
    std::vector<int> setOf(at(n), -1);
    std::vector<int> innerIndex(at(n), 0);
    std::vector<Inner> inner(family.size());
    for (std::size_t f = 0; f < family.size(); ++f) {
      inner[f].nodes = family[f];
      for (std::size_t i = 0; i < family[f].size(); ++i) {
        setOf[at(family[f][i])] = static_cast<int>(f);
        innerIndex[at(family[f][i])] = static_cast<int>(i);
      }
    }
    // Outer nodes in the order of first appearance keeps rank order.
    std::vector<int> outerOf(at(n), -1);
    std::vector<int> outerSet;   // outer node -> set, or -1
    std::vector<int> outerNode;  // outer node -> node, when it is no set
    std::vector<int> outerOfSet(family.size(), -1);
    for (int v = 0; v < n; ++v) {
      const int set = setOf[at(v)];
      if (set >= 0 && outerOfSet[at(set)] >= 0) {
        outerOf[at(v)] = outerOfSet[at(set)];
        continue;
      }
      outerOf[at(v)] = static_cast<int>(outerSet.size());
      outerSet.push_back(set);
      outerNode.push_back(set >= 0 ? -1 : v);
      if (set >= 0) {
        outerOfSet[at(set)] = outerOf[at(v)];
      }
    }
    PackingProblem outer;
    outer.nodeCount = static_cast<int>(outerSet.size());
    outer.supply.assign(at(outer.nodeCount), 0);
    for (int v = 0; v < n; ++v) {
      outer.supply[at(outerOf[at(v)])] += problem.supply[at(v)];
    }
    std::vector<PackingProblem> innerProblem(family.size());
    for (std::size_t f = 0; f < family.size(); ++f) {
      innerProblem[f].nodeCount = static_cast<int>(family[f].size());
      for (const int node : family[f]) {
        innerProblem[f].supply.push_back(problem.supply[at(node)]);
        inner[f].ownLeft.push_back(problem.supply[at(node)]);
      }
    }
    std::vector<int> crossing;
    for (std::size_t i = 0; i < problem.arcs.size(); ++i) {
      const TreeArc& arc = problem.arcs[i];
      const int from = setOf[at(arc.tail)];
      const int to = setOf[at(arc.head)];
      if (from >= 0 && from == to) {
        innerProblem[at(to)].arcs.push_back({innerIndex[at(arc.tail)], innerIndex[at(arc.head)], arc.capacity});
        inner[at(to)].arcOf.push_back(static_cast<int>(i));
      } else {
        crossing.push_back(static_cast<int>(i));
        if (to >= 0) {
          innerProblem[at(to)].supply[at(innerIndex[at(arc.head)])] += arc.capacity;
        }
      }
    }
    // Bundles of parallel arcs between outer nodes.
    const auto outerKey = [&](int arc) {
      return std::pair(outerOf[at(problem.arcs[at(arc)].tail)], outerOf[at(problem.arcs[at(arc)].head)]);
    };
    std::stable_sort(crossing.begin(), crossing.end(), [&](int a, int b) { return outerKey(a) < outerKey(b); });
    std::vector<int> bundleStart;
    for (std::size_t i = 0; i < crossing.size(); ++i) {
      const int64_t capacity = problem.arcs[at(crossing[i])].capacity;
      if (i == 0 || outerKey(crossing[i]) != outerKey(crossing[i - 1])) {
        bundleStart.push_back(static_cast<int>(i));
        const auto [tail, head] = outerKey(crossing[i]);
        outer.arcs.push_back({tail, head, capacity});
      } else {
        outer.arcs.back().capacity += capacity;
      }
    }
    bundleStart.push_back(static_cast<int>(crossing.size()));

    const Trees outerTrees = solve(outer);
    for (std::size_t f = 0; f < family.size(); ++f) {
      inner[f].trees = solveShared(innerProblem[f]);
      inner[f].treesAt.assign(family[f].size(), {});
      for (std::size_t t = 0; t < inner[f].trees->size(); ++t) {
        inner[f].left.push_back((*inner[f].trees)[t].multiplicity);
        inner[f].treesAt[at((*inner[f].trees)[t].root)].push_back(static_cast<int>(t));
      }
    }
    return compose(problem, outerTrees, outer, outerSet, outerNode, innerIndex, inner, crossing, bundleStart);
  }

  /// Choices made so far for a bunch of equal trees: the root (if its outer root is a set), then per outer arc a
  /// concrete arc and, where it enters a set, an inner tree; in the order the walk asks.
  struct Piece {
    std::size_t outerTree = 0;
    int64_t multiplicity = 0;
    std::vector<int> decisions;
  };

  Trees compose(const PackingProblem& problem, const Trees& outerTrees, const PackingProblem& outer,
                const std::vector<int>& outerSet, const std::vector<int>& outerNode, const std::vector<int>& innerIndex,
                std::vector<Inner>& inner, const std::vector<int>& crossing, const std::vector<int>& bundleStart) {
    std::vector<int64_t> arcLeft(problem.arcs.size());
    for (std::size_t i = 0; i < problem.arcs.size(); ++i) {
      arcLeft[i] = problem.arcs[i].capacity;
    }
    Trees trees;
    std::vector<int> depth(at(problem.nodeCount), 0);
    std::vector<Piece> stack;
    for (std::size_t t = 0; t < outerTrees.size(); ++t) {
      stack.push_back({t, outerTrees[t].multiplicity, {}});
      while (!stack.empty()) {
        throwIfCancelled(m_progress);
        Piece piece = std::move(stack.back());
        stack.pop_back();
        const PackedTree& skeleton = outerTrees[piece.outerTree];
        // Resources of replayed decisions were granted for the larger piece already.
        const std::size_t replayed = piece.decisions.size();
        std::size_t asked = 0;
        const auto settle = [&](int choice, int64_t available) {
          // Grants what is available; copies that do not fit go back on the stack with the choices so far.
          if (available < piece.multiplicity) {
            stack.push_back({piece.outerTree, piece.multiplicity - available, piece.decisions});
            piece.multiplicity = available;
          }
          piece.decisions.push_back(choice);
        };
        std::vector<int64_t*> charged;
        PackedTree tree;
        tree.arcs.reserve(at(problem.nodeCount) - 1);
        const auto plant = [&](Inner& set, int root) {
          // Attach an inner tree rooted at inner node `root`.
          int choice = -1;
          if (asked < replayed) {
            choice = piece.decisions[asked];
          } else {
            for (const int candidate : set.treesAt[at(root)]) {
              const int64_t left = set.left[at(candidate)];
              if (left == 0) {
                continue;
              }
              if (left == piece.multiplicity) {
                choice = candidate;
                break;
              }
              if (choice < 0 || left > set.left[at(choice)]) {
                choice = candidate;
              }
            }
            if (choice < 0) {
              throw Failure{{ErrorCode::internal, "composition ran out of inner trees"}};
            }
            settle(choice, set.left[at(choice)]);
          }
          ++asked;
          charged.push_back(&set.left[at(choice)]);
          for (const int arc : (*set.trees)[at(choice)].arcs) {
            const int whole = set.arcOf[at(arc)];
            tree.arcs.push_back(whole);
            depth[at(problem.arcs[at(whole)].head)] = depth[at(problem.arcs[at(whole)].tail)] + 1;
          }
        };

        const int rootSet = outerSet[at(skeleton.root)];
        if (rootSet < 0) {
          tree.root = outerNode[at(skeleton.root)];
          depth[at(tree.root)] = 0;
        } else {
          Inner& set = inner[at(rootSet)];
          int choice = -1;
          if (asked < replayed) {
            choice = piece.decisions[asked];
          } else {
            for (std::size_t i = 0; i < set.ownLeft.size(); ++i) {
              if (set.ownLeft[i] == piece.multiplicity) {
                choice = static_cast<int>(i);
                break;
              }
              if (set.ownLeft[i] > 0 && (choice < 0 || set.ownLeft[i] > set.ownLeft[at(choice)])) {
                choice = static_cast<int>(i);
              }
            }
            if (choice < 0) {
              throw Failure{{ErrorCode::internal, "composition ran out of roots"}};
            }
            settle(choice, set.ownLeft[at(choice)]);
          }
          ++asked;
          charged.push_back(&set.ownLeft[at(choice)]);
          tree.root = set.nodes[at(choice)];
          depth[at(tree.root)] = 0;
          plant(set, choice);
        }
        for (const int outerArc : skeleton.arcs) {
          int choice = -1;
          if (asked < replayed) {
            choice = piece.decisions[asked];
          } else {
            for (int i = bundleStart[at(outerArc)]; i < bundleStart[at(outerArc) + 1]; ++i) {
              const int arc = crossing[at(i)];
              if (arcLeft[at(arc)] == 0) {
                continue;
              }
              // Shallow tails keep trees low; among equals the one that needs no split.
              const auto rank = [&](int candidate) {
                return std::pair(depth[at(problem.arcs[at(candidate)].tail)],
                                 -std::min(arcLeft[at(candidate)], piece.multiplicity));
              };
              if (choice < 0 || rank(arc) < rank(choice)) {
                choice = arc;
              }
            }
            if (choice < 0) {
              throw Failure{{ErrorCode::internal, "composition ran out of capacity between sets"}};
            }
            settle(choice, arcLeft[at(choice)]);
          }
          ++asked;
          charged.push_back(&arcLeft[at(choice)]);
          const int head = problem.arcs[at(choice)].head;
          tree.arcs.push_back(choice);
          depth[at(head)] = depth[at(problem.arcs[at(choice)].tail)] + 1;
          const int headSet = outerSet[at(outer.arcs[at(outerArc)].head)];
          if (headSet >= 0) {
            plant(inner[at(headSet)], innerIndex[at(head)]);
          }
        }
        for (int64_t* left : charged) {
          *left -= piece.multiplicity;
        }
        tree.multiplicity = piece.multiplicity;
        trees.push_back(std::move(tree));
      }
    }
    return trees;
  }

  /// Fewer distinct trees: a divisor d of all supplies whose coarse problem floor(c / d) is still feasible is packed
  /// instead, every tree d-fold.
  Trees solveAtomic(const PackingProblem& problem) {
    if (auto low = solveLow(problem, m_options.heightEffort)) {
      return *std::move(low);
    }
    int64_t divisor = 0;
    for (const int64_t supply : problem.supply) {
      divisor = std::gcd(divisor, supply);
    }
    for (const int64_t d : divisorsDescending(divisor)) {
      if (d == 1) {
        break;
      }
      PackingProblem coarse;
      coarse.nodeCount = problem.nodeCount;
      std::vector<int> arcOf;
      for (std::size_t i = 0; i < problem.arcs.size(); ++i) {
        if (problem.arcs[i].capacity >= d) {
          coarse.arcs.push_back({problem.arcs[i].tail, problem.arcs[i].head, problem.arcs[i].capacity / d});
          arcOf.push_back(static_cast<int>(i));
        }
      }
      for (const int64_t supply : problem.supply) {
        coarse.supply.push_back(supply / d);
      }
      Oracle oracle(coarse.nodeCount, coarse.arcs, coarse.supply, allNodes(coarse.nodeCount));
      if (!oracle.isFeasible(m_progress)) {
        continue;
      }
      Trees trees = AtomicPacking(coarse, m_progress, m_options).run();
      for (PackedTree& tree : trees) {
        tree.multiplicity *= d;
        for (int& arc : tree.arcs) {
          arc = arcOf[at(arc)];
        }
      }
      return trees;
    }
    return AtomicPacking(problem, m_progress, m_options).run();
  }

  /// At most 24 divisors of value, largest first; those are enough to find the coarse grain that pays.
  static std::vector<int64_t> divisorsDescending(int64_t value) {
    constexpr int64_t kTrialLimit = 1'000'000;
    std::vector<int64_t> small;
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= kTrialLimit && d <= value / d; ++d) {
      if (value % d == 0) {
        small.push_back(d);
        divisors.push_back(value / d);
      }
    }
    for (std::size_t i = small.size(); i-- > 0;) {
      if (divisors.empty() || small[i] != divisors.back()) {
        divisors.push_back(small[i]);
      }
    }
    if (divisors.size() > 24) {
      divisors.resize(24);
    }
    return divisors;
  }

  const Progress& m_progress;
  const PackingOptions& m_options;
  std::unordered_map<std::string, std::shared_ptr<const Trees>> m_memo;
};

}  // namespace

Trees packTrees(const PackingProblem& problem, const Progress& progress, const PackingOptions& options) {
  progress.report("packing", 0);
  if (options.heuristics && options.mostHeight < problem.nodeCount) {
    // Trees put together from parts add up their heights: a cap is better kept by the whole.
    if (auto low = packLow(problem, progress, {.mostHeight = options.mostHeight, .effort = options.heightEffort})) {
      return *std::move(low);
    }
  }
  Trees trees = Packing(progress, options).solve(problem);
  if (options.heuristics) {
    lowerTrees(problem, trees, progress, options.heightEffort);
  }
  progress.report("packing", 1);
  return trees;
}

}  // namespace coppice::forestcoll
