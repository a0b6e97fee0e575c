// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/low_packing.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "base/rows.hpp"
#include "forestcoll/packing/transport.hpp"
#include "forestcoll/packing/tree_growth.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Level = std::uint16_t;

constexpr Level kFar = std::numeric_limits<Level>::max();

class LevelPacking {
public:
  LevelPacking(const PackingProblem& problem, const Progress& progress, const LowPackingOptions& options)
      : m_problem(problem),
        m_progress(progress),
        m_options(options),
        m_in(numbersByRow<int>(problem.nodeCount, problem.arcs, &TreeArc::head)) {
    for (int node = 0; node < problem.nodeCount; ++node) {
      if (problem.supply[node] > 0) {
        m_roots.push_back(node);
      }
    }
    // What does not come out even is left to the same few roots at every node, so that the others' trees stay whole;
    // these few lie all over the graph, for every node to have some on each side.
    const int64_t roots = rootCount();
    int64_t step = std::max<int64_t>(1, roots * 618 / 1000);
    while (std::gcd(step, roots) > 1) {
      ++step;
    }
    m_reluctance.resize(m_roots.size());
    for (int64_t rank = 0; rank < roots; ++rank) {
      m_reluctance[rank * step % roots] = static_cast<int>(rank);
    }
  }

  std::optional<std::vector<PackedTree>> run() {
    if (!enoughCapacity() || !isSmallEnough() || !findDistances()) {
      return std::nullopt;
    }
    m_parents.assign(static_cast<std::size_t>(m_problem.nodeCount) * m_roots.size(), -1);
    m_splits.assign(m_roots.size(), {});
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      throwIfCancelled(m_progress);
      if (!chooseParents(node)) {
        return m_options.effort == 0 ? std::nullopt : grow();
      }
    }
    return assemble();
  }

private:
  /// Parents of one node in one root's trees that are not the same in all of them, largest part first.
  struct Split {
    int node = 0;
    std::vector<Transport::Piece> parts;  // bin = position among the node's entering arcs
  };

  [[nodiscard]] int rootCount() const { return static_cast<int>(m_roots.size()); }
  [[nodiscard]] Level& level(int node, int root) {
    return m_levels[static_cast<std::size_t>(node) * m_roots.size() + static_cast<std::size_t>(root)];
  }
  [[nodiscard]] std::span<const Level> levels(int node) const {
    return {m_levels.data() + static_cast<std::size_t>(node) * m_roots.size(), m_roots.size()};
  }

  [[nodiscard]] bool enoughCapacity() const {
    int64_t total = 0;
    for (const int64_t supply : m_problem.supply) {
      total = checkedAdd(total, supply);
    }
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      int64_t in = 0;
      for (const int arc : m_in[node]) {
        in = checkedAdd(in, m_problem.arcs[arc].capacity);
      }
      if (in < total - m_problem.supply[node]) {
        return false;
      }
    }
    return true;
  }

  /// Tables of nodes x roots, and one look at every arc for every root.
  [[nodiscard]] bool isSmallEnough() const {
    constexpr int64_t kMaxEntries = int64_t{1} << 28;
    constexpr int64_t kMaxLooks = int64_t{1} << 31;
    const int64_t roots = rootCount();
    return roots * m_problem.nodeCount <= kMaxEntries &&
           static_cast<int64_t>(m_problem.arcs.size()) * roots <= kMaxLooks;
  }

  /// Breadth-first levels of all roots at once, as bit sets over the roots. False if some node is out of reach or too
  /// far away.
  bool findDistances() {
    const std::size_t words = (m_roots.size() + 63) / 64;
    const std::size_t nodes = static_cast<std::size_t>(m_problem.nodeCount);
    m_levels.assign(nodes * m_roots.size(), kFar);
    std::vector<std::uint64_t> reached(nodes * words, 0);
    for (int root = 0; root < rootCount(); ++root) {
      reached[static_cast<std::size_t>(m_roots[root]) * words + static_cast<std::size_t>(root) / 64] |= std::uint64_t{1}
                                                                                                        << (root % 64);
      level(m_roots[root], root) = 0;
    }
    std::vector<std::uint64_t> next = reached;
    int64_t open = static_cast<int64_t>(nodes * m_roots.size()) - rootCount();
    for (int distance = 1; open > 0; ++distance) {
      throwIfCancelled(m_progress);
      if (distance > m_options.maxHeight || distance >= kFar) {
        return false;
      }
      const int64_t before = open;
      for (int node = 0; node < m_problem.nodeCount; ++node) {
        std::uint64_t* const mine = next.data() + static_cast<std::size_t>(node) * words;
        for (const int arc : m_in[node]) {
          const std::uint64_t* const theirs =
              reached.data() + static_cast<std::size_t>(m_problem.arcs[arc].tail) * words;
          for (std::size_t w = 0; w < words; ++w) {
            mine[w] |= theirs[w];
          }
        }
        const std::uint64_t* const old = reached.data() + static_cast<std::size_t>(node) * words;
        for (std::size_t w = 0; w < words; ++w) {
          for (std::uint64_t fresh = mine[w] & ~old[w]; fresh != 0; fresh &= fresh - 1) {
            level(node, static_cast<int>(w) * 64 + __builtin_ctzll(fresh)) = static_cast<Level>(distance);
            --open;
          }
        }
      }
      if (open == before) {
        return false;
      }
      reached = next;
    }
    return true;
  }

  bool chooseParents(int node) {
    const std::span<const int> arcs = m_in[node];
    m_rooms.clear();
    for (const int arc : arcs) {
      m_rooms.push_back(m_problem.arcs[arc].capacity);
    }
    m_transport.start(m_rooms);
    const std::span<const Level> mine = levels(node);
    m_itemRoot.clear();
    for (int root = 0; root < rootCount(); ++root) {
      if (m_roots[root] == node) {
        continue;
      }
      m_bins.clear();
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        if (levels(m_problem.arcs[arcs[i]].tail)[root] < mine[root]) {
          m_bins.push_back(static_cast<int>(i));
        }
      }
      m_transport.addItem(m_problem.supply[m_roots[root]], m_bins, m_reluctance[root]);
      m_itemRoot.push_back(root);
    }
    const int64_t before = m_transport.work();
    const bool isSolved = m_transport.solve();
    m_progress.spend(m_roots.size() + static_cast<std::uint64_t>(m_transport.work() - before));
    if (!isSolved) {
      return false;
    }
    for (int item = 0; item < m_transport.itemCount(); ++item) {
      const int root = m_itemRoot[item];
      const int bin = m_transport.wholeBin(item);
      if (bin >= 0) {
        m_parents[static_cast<std::size_t>(node) * m_roots.size() + static_cast<std::size_t>(root)] = arcs[bin];
        continue;
      }
      m_splits[root].push_back({node, m_transport.pieces(item)});
    }
    return true;
  }

  /// All trees together, height after height. Small problems are tried with several limits on the number of different
  /// trees; the lowest result counts, then the one of fewest trees.
  std::optional<std::vector<PackedTree>> grow() {
    constexpr int64_t kMaxCells = int64_t{1} << 25;
    constexpr int kSmall = 32;
    constexpr int64_t kMaxPerRoot = 64;
    int64_t copies = 0;
    for (const int64_t supply : m_problem.supply) {
      copies += supply;
    }
    const int64_t max = std::min({copies, kMaxPerRoot * rootCount(), kMaxCells / m_problem.nodeCount});
    std::optional<std::vector<PackedTree>> best;
    int bestHeight = 0;
    for (int64_t perRoot = m_problem.nodeCount <= kSmall ? 1 : kMaxPerRoot; perRoot <= kMaxPerRoot; perRoot *= 8) {
      const int64_t trees = std::max<int64_t>(rootCount(), std::min(max, perRoot * rootCount()));
      if (!TreeTable::fits(m_problem, trees)) {
        break;
      }
      TreeTable table(m_problem, static_cast<int>(std::min<int64_t>(trees, 8 * rootCount())));
      for (const int root : m_roots) {
        table.addTree(root, m_problem.supply[root]);
      }
      const int64_t looks = trees * static_cast<int64_t>(m_problem.arcs.size());
      const GrowthLimits limits{std::min(m_options.maxHeight, m_problem.nodeCount - 1), static_cast<int>(trees),
                                (1'000'000 + 8 * looks) << std::clamp(m_options.effort - 1, 0, 10)};
      if (!growTrees(table, limits, m_progress)) {
        continue;
      }
      int height = 0;
      for (int tree = 0; tree < table.treeCount(); ++tree) {
        height = std::max(height, table.height(tree));
      }
      if (!best || height < bestHeight) {
        bestHeight = height;
        best.emplace();
        for (int tree = 0; tree < table.treeCount(); ++tree) {
          best->push_back(table.tree(tree));
        }
      }
      if (trees >= copies || table.treeCount() < trees) {
        break;  // more would not be used
      }
    }
    return best;
  }

  /// The copies of a root's trees are numbered; a split node's parts take consecutive numbers, largest first, so that
  /// the parts of many nodes end at the same numbers and few different trees arise.
  std::vector<PackedTree> assemble() {
    std::vector<PackedTree> trees;
    std::vector<int> order;
    std::vector<int> byLevel;
    std::vector<int> parent(m_problem.nodeCount);
    std::vector<int64_t> ends;
    for (int root = 0; root < rootCount(); ++root) {
      throwIfCancelled(m_progress);
      const int rootNode = m_roots[root];
      orderByLevel(root, order, byLevel);
      for (const int node : order) {
        parent[node] = m_parents[static_cast<std::size_t>(node) * m_roots.size() + static_cast<std::size_t>(root)];
      }
      ends.assign(1, m_problem.supply[rootNode]);
      for (const Split& split : m_splits[root]) {
        int64_t end = 0;
        for (const Transport::Piece& part : split.parts) {
          end += part.amount;
          ends.push_back(end);
        }
      }
      std::sort(ends.begin(), ends.end());
      ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
      int64_t first = 0;
      for (const int64_t end : ends) {
        for (const Split& split : m_splits[root]) {
          int64_t partEnd = 0;
          for (const Transport::Piece& part : split.parts) {
            partEnd += part.amount;
            if (first < partEnd) {
              parent[split.node] = m_in[split.node][part.bin];
              break;
            }
          }
        }
        PackedTree tree{rootNode, end - first, {}};
        tree.arcs.reserve(order.size());
        for (const int node : order) {
          tree.arcs.push_back(parent[node]);
        }
        trees.push_back(std::move(tree));
        first = end;
      }
    }
    return trees;
  }

  /// All nodes but the root, by ascending level.
  void orderByLevel(int root, std::vector<int>& order, std::vector<int>& byLevel) {
    Level deepest = 0;
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      deepest = std::max(deepest, level(node, root));
    }
    byLevel.assign(std::size_t{deepest} + 2, 0);
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      ++byLevel[std::size_t{level(node, root)} + 1];
    }
    std::partial_sum(byLevel.begin(), byLevel.end(), byLevel.begin());
    order.resize(m_problem.nodeCount);
    for (int node = 0; node < m_problem.nodeCount; ++node) {
      order[byLevel[level(node, root)]++] = node;
    }
    order.erase(order.begin());  // the root alone has level 0
  }

  const PackingProblem& m_problem;
  const Progress& m_progress;
  const LowPackingOptions& m_options;
  Rows<int> m_in;                            // arcs entering each node
  std::vector<int> m_roots;                  // nodes with supply
  std::vector<Level> m_levels;               // node x root
  std::vector<int> m_parents;                // node x root: arc, -1 where it is split
  std::vector<std::vector<Split>> m_splits;  // by root
  Transport m_transport;
  std::vector<int64_t> m_rooms;
  std::vector<int> m_bins;
  std::vector<int> m_itemRoot;
  std::vector<int> m_reluctance;  // by root
};

}  // namespace

std::optional<std::vector<PackedTree>> packLow(const PackingProblem& problem, const Progress& progress,
                                               const LowPackingOptions& options) {
  return LevelPacking(problem, progress, options).run();
}

}  // namespace coppice::forestcoll
