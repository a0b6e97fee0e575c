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
#include "base/rows.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/packing/contraction.hpp"
#include "forestcoll/packing/low_packing.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;
using Trees = std::vector<PackedTree>;

std::vector<int> allNodes(int count) {
  std::vector<int> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Packs a problem without useful tight sets.
class AtomicPacking {
public:
  AtomicPacking(const PackingProblem& problem, const Progress& progress, const PackingOptions& options)
      : m_problem(problem),
        m_progress(progress),
        m_options(options),
        m_out(numbersByRow<int>(problem.nodeCount, problem.arcs, &TreeArc::tail)) {
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
    std::vector<char> reached(nodeCount(), 0);
    std::vector<int> best(nodeCount(), -1);
    reached[root] = 1;
    std::vector<int> frontier{root};
    while (!frontier.empty() && arcs.size() + 1 < static_cast<std::size_t>(nodeCount())) {
      std::vector<int> next;
      for (const int node : frontier) {
        for (const int arc : m_out[node]) {
          const int head = m_problem.arcs[arc].head;
          if (reached[head] != 0 || m_remaining[arc] < multiplicity) {
            continue;
          }
          if (best[head] < 0) {
            next.push_back(head);
            best[head] = arc;
          } else if (m_remaining[arc] > m_remaining[best[head]]) {
            best[head] = arc;
          }
        }
      }
      for (const int node : next) {
        reached[node] = 1;
        arcs.push_back(best[node]);
      }
      frontier = std::move(next);
    }
    return arcs.size() + 1 == static_cast<std::size_t>(nodeCount());
  }

  /// Trees one after the other without looking at cuts. If all fit, no cut condition is needed.
  bool packGreedily() {
    std::vector<int> arcs;
    for (int root = 0; root < nodeCount(); ++root) {
      throwIfCancelled(m_progress);
      while (m_supply[root] > 0) {
        int64_t multiplicity = m_supply[root];
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
          m_remaining[arc] -= multiplicity;
        }
        m_supply[root] -= multiplicity;
        m_trees.push_back({root, multiplicity, arcs});
      }
    }
    return true;
  }

  void apply(const Partial& tree, int64_t sign) {
    const int64_t amount = sign * tree.multiplicity;
    for (const int arc : tree.arcs) {
      m_remaining[arc] -= amount;
      m_oracle->setCapacity(arc, m_remaining[arc]);
    }
    m_supply[tree.root] -= amount;
    m_oracle->setSupply(tree.root, m_supply[tree.root]);
  }

  /// Adds violated sets to the pool with their slack in the present (feasible) state.
  void learn(const std::vector<flow::Violation<int64_t>>& violated) {
    constexpr std::size_t kMaxSets = 512;
    for (const auto& violation : violated) {
      PoolSet set;
      set.contains.assign(nodeCount(), 0);
      int64_t inside = 0;
      for (const int node : violation.nodes) {
        set.contains[node] = 1;
        inside += m_supply[node];
      }
      set.slack = m_oracle->entering(set.contains) + inside - m_oracle->target();
      if (m_pool.size() >= kMaxSets) {
        m_pool.erase(m_pool.begin());
      }
      m_pool.push_back(std::move(set));
    }
    indexPool();
  }

  void indexPool() {
    m_setsOf.assign(nodeCount(), {});
    for (std::size_t i = 0; i < m_pool.size(); ++i) {
      for (int node = 0; node < nodeCount(); ++node) {
        if (m_pool[i].contains[node] != 0) {
          m_setsOf[node].push_back(static_cast<int>(i));
        }
      }
    }
  }

  /// Slack changes when a whole tree is taken out: its entries but the free first one.
  void chargePool(const Partial& tree, int64_t sign) {
    for (PoolSet& set : m_pool) {
      int64_t entries = 0;
      for (const int arc : tree.arcs) {
        const TreeArc& a = m_problem.arcs[arc];
        entries += set.contains[a.head] != 0 && set.contains[a.tail] == 0 ? 1 : 0;
      }
      const int64_t free = set.contains[tree.root] != 0 ? 0 : 1;
      set.slack -= sign * tree.multiplicity * (entries - free);
    }
  }

  [[nodiscard]] bool mayAdd(int arc, int64_t multiplicity) const {
    const TreeArc& a = m_problem.arcs[arc];
    for (const int i : m_setsOf[a.head]) {
      const PoolSet& set = m_pool[i];
      if (set.contains[a.tail] == 0 && (set.holdsRoot || set.entered)) {
        const int64_t costly = set.entries + (set.holdsRoot ? 1 : 0);
        if (multiplicity * costly > set.slack) {
          return false;
        }
      }
    }
    return true;
  }

  void noteAdded(int arc) {
    const TreeArc& a = m_problem.arcs[arc];
    for (const int i : m_setsOf[a.head]) {
      PoolSet& set = m_pool[i];
      if (set.contains[a.tail] == 0) {
        ++set.entries;
      }
      set.entered = true;
    }
  }

  /// Breadth-first tree that respects the pool. Incomplete when stuck.
  Partial build(int root, int64_t multiplicity) {
    m_progress.spend(m_problem.arcs.size());
    Partial tree{root, multiplicity, {}, std::vector<char>(static_cast<std::size_t>(nodeCount()), 0), false};
    for (PoolSet& set : m_pool) {
      set.holdsRoot = set.contains[root] != 0;
      set.entered = set.holdsRoot;
      set.entries = 0;
    }
    tree.reached[root] = 1;
    struct Candidate {
      int64_t remaining;
      int arc;
    };
    std::vector<int> frontier{root};
    std::vector<Candidate> candidates;
    while (!frontier.empty() && tree.arcs.size() + 1 < static_cast<std::size_t>(nodeCount())) {
      candidates.clear();
      for (const int node : frontier) {
        for (const int arc : m_out[node]) {
          if (tree.reached[m_problem.arcs[arc].head] == 0 && m_remaining[arc] >= multiplicity) {
            candidates.push_back({m_remaining[arc], arc});
          }
        }
      }
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.remaining > b.remaining; });
      std::vector<int> next;
      for (const Candidate& candidate : candidates) {
        const int head = m_problem.arcs[candidate.arc].head;
        if (tree.reached[head] == 0 && mayAdd(candidate.arc, multiplicity)) {
          tree.reached[head] = 1;
          tree.arcs.push_back(candidate.arc);
          noteAdded(candidate.arc);
          next.push_back(head);
        }
      }
      frontier = std::move(next);
    }
    tree.isComplete = tree.arcs.size() + 1 == static_cast<std::size_t>(nodeCount());
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
      while (root < nodeCount() && m_supply[root] == 0) {
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
        if (m_supply[next] == 0) {
          ++next;
          continue;
        }
        Partial tree = build(next, std::min(m_supply[next], m_grain));
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
    int64_t multiplicity = std::min(m_supply[root], m_grain);
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
            const TreeArc& a = m_problem.arcs[arc];
            entries += set.contains[a.head] != 0 && set.contains[a.tail] == 0 ? 1 : 0;
          }
          const int64_t costly = entries - (set.contains[root] != 0 ? 0 : 1);
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
        if (tree.reached[node] != 0) {
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
    Partial tree{root, m_supply[root], {}, std::vector<char>(static_cast<std::size_t>(nodeCount()), 0), false};
    // From here on the copies under construction are no longer supply.
    m_supply[root] = 0;
    m_oracle->setSupply(root, 0);
    tree.reached[root] = 1;
    std::vector<int> order{root};
    std::vector<char> refused(m_problem.arcs.size(), 0);  // mu = 0 stays 0 while the multiplicity does not change
    while (order.size() < static_cast<std::size_t>(nodeCount())) {
      throwIfCancelled(m_progress);
      m_progress.spend(m_oracle->takeWork());
      int bestArc = -1;
      int64_t bestAmount = 0;
      for (std::size_t i = 0; i < order.size() && bestAmount < tree.multiplicity; ++i) {
        for (const int arc : m_out[order[i]]) {
          const int head = m_problem.arcs[arc].head;
          if (tree.reached[head] != 0 || refused[arc] != 0) {
            continue;
          }
          const int64_t amount = addable(arc, tree.multiplicity);
          if (amount == 0) {
            refused[arc] = 1;
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
        // Fewer copies continue; the others start again, which is sound because both halves were feasible.
        const int64_t back = tree.multiplicity - bestAmount;
        for (const int arc : tree.arcs) {
          m_remaining[arc] += back;
          m_oracle->setCapacity(arc, m_remaining[arc]);
        }
        m_supply[root] += back;
        m_oracle->setSupply(root, m_supply[root]);
        tree.multiplicity = bestAmount;
        std::fill(refused.begin(), refused.end(), char{0});
      }
      m_remaining[bestArc] -= tree.multiplicity;
      m_oracle->setCapacity(bestArc, m_remaining[bestArc]);
      tree.arcs.push_back(bestArc);
      const int head = m_problem.arcs[bestArc].head;
      tree.reached[head] = 1;
      order.push_back(head);
    }
    chargePool(tree, 1);
    keep(std::move(tree));
  }

  /// mu of (B.4) for the partial tree.
  int64_t addable(int arc, int64_t multiplicity) {
    const int64_t max = std::min(multiplicity, m_remaining[arc]);
    if (max == 0) {
      return 0;
    }
    m_oracle->setCapacity(arc, m_remaining[arc] - max);
    const int64_t target = m_oracle->target();
    const int64_t flow = m_oracle->flowInto(m_problem.arcs[arc].head, target);
    m_oracle->undo();
    m_oracle->setCapacity(arc, m_remaining[arc]);
    return std::max<int64_t>(0, max - (target - flow));
  }

  const PackingProblem& m_problem;
  const Progress& m_progress;
  const PackingOptions& m_options;
  Rows<int> m_out;                   // arcs leaving each node
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
    if (problem.arcs.size() <= kSparse * static_cast<std::size_t>(problem.nodeCount)) {
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
    return packLow(problem, m_progress, {.maxHeight = m_options.maxHeight, .effort = effort});
  }

  /// Disjoint tight sets with 2 .. n-1 nodes.
  std::vector<std::vector<int>> tightFamily(const PackingProblem& problem) {
    const int n = problem.nodeCount;
    Oracle oracle(n, problem.arcs, problem.supply, allNodes(n));
    std::vector<char> used(n, 0);
    std::vector<std::vector<int>> family;
    std::vector<std::vector<int>> near(n);
    for (const TreeArc& arc : problem.arcs) {
      near[arc.head].push_back(arc.tail);
    }
    const auto take = [&](std::vector<int> set) {
      const bool isFree = std::all_of(set.begin(), set.end(), [&](int node) { return used[node] == 0; });
      if (set.size() < 2 || set.size() >= static_cast<std::size_t>(n) || !isFree) {
        return false;
      }
      for (const int node : set) {
        used[node] = 1;
      }
      family.push_back(std::move(set));
      return true;
    };
    for (const int sink : oracle.sinkOrder()) {
      throwIfCancelled(m_progress);
      if (oracle.flowInto(sink, oracle.target()) < oracle.target()) {
        throw Failure{{ErrorCode::internal, "tree packing was given capacities that are not feasible"}};
      }
      if (used[sink] == 0) {
        std::vector<int> seeds{sink};
        bool isClosed = false;
        std::vector<int> set = oracle.reaching(seeds, isClosed);
        if (isClosed && set.size() > 1) {
          take(std::move(set));
        } else if (isClosed) {
          int tries = 0;
          for (const int other : near[sink]) {
            if (used[other] != 0 || ++tries > 4) {
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

  Trees decompose(const PackingProblem& problem, const std::vector<std::vector<int>>& family) {
    const Contraction parts(problem, family);
    const Trees outer = solve(parts.outer());
    std::vector<std::shared_ptr<const Trees>> inner;
    for (std::size_t set = 0; set < parts.setCount(); ++set) {
      inner.push_back(solveShared(parts.inner(set)));
    }
    return parts.compose(outer, inner, m_progress);
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
          arc = arcOf[arc];
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
  if (options.heuristics && options.maxHeight < problem.nodeCount) {
    // Trees put together from parts add up their heights: a cap is better kept by the whole.
    if (auto low = packLow(problem, progress, {.maxHeight = options.maxHeight, .effort = options.heightEffort})) {
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
