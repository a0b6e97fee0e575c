// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "flow/max_flow.hpp"
#include "forestcoll/boxes/rotated_trees.hpp"
#include "forestcoll/boxes/two_level_entries.hpp"
#include "forestcoll/boxes/two_level_routes.hpp"
#include "forestcoll/boxes/two_level_slices.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Trees times GPUs, at most: each pair is an edge of the forest.
constexpr int64_t kMaxEdges = int64_t{1} << 27;
constexpr std::size_t kMaxGpus = 8192;

bool shareNetwork(const std::vector<int>& a, const std::vector<int>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) {
      return true;
    }
    *i < *j ? ++i : ++j;
  }
  return false;
}

/// A tree's way into a box.
struct Entry {
  int tree = 0;
  int gpu = 0;
  int sender = -1;       ///< a GPU of the tree's own box
  int64_t children = 0;  ///< GPUs of the box that take the tree from this entry
};

/// In the box of its root, this many GPUs take a tree from the relay instead of the root.
struct Relay {
  int tree = 0;
  int gpu = 0;
  int64_t children = 0;
};

/// Moves children from overloaded GPUs of a box to others with room, along chains of trees that have both as entries: a
/// maximum flow over GPUs and trees. False where some load is too much for all of them together.
/// @param runs the entries of each tree
/// @param room by rank; below 0 where a GPU is overloaded
bool rebalance(std::vector<Entry>& entries, const std::vector<std::pair<std::size_t, std::size_t>>& runs,
               const std::vector<int>& gpus, const std::vector<int64_t>& room, const Progress& progress) {
  int64_t overload = 0;
  for (const int gpu : gpus) {
    overload += std::max<int64_t>(0, -room[gpu]);
  }
  if (overload == 0) {
    return true;
  }
  const auto gpuCount = static_cast<int>(room.size());
  const int source = gpuCount + static_cast<int>(runs.size());
  const int sink = source + 1;
  flow::MaxFlow flow(sink + 1);
  for (const int gpu : gpus) {
    if (room[gpu] < 0) {
      flow.addArc(source, gpu, -room[gpu]);
    } else if (room[gpu] > 0) {
      flow.addArc(gpu, sink, room[gpu]);
    }
  }
  struct Shift {
    std::size_t entry = 0;
    int away = 0;  ///< arcs of the flow
    int here = 0;
  };
  std::vector<Shift> shifts;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const auto [first, last] = runs[run];
    const int tree = gpuCount + static_cast<int>(run);
    for (std::size_t i = first; i < last && last - first > 1; ++i) {
      const int gpu = entries[i].gpu;
      shifts.push_back({i, flow.addArc(gpu, tree, entries[i].children), flow.addArc(tree, gpu, overload)});
    }
  }
  progress.spend(shifts.size());
  throwIfCancelled(progress);
  if (flow.run(source, sink, overload) < overload) {
    return false;
  }
  for (const Shift& shift : shifts) {
    entries[shift.entry].children += flow.flow(shift.here) - flow.flow(shift.away);
  }
  return true;
}

/// The trees of one slice: who enters where, and who passes on to whom.
class TwoLevelPacking {
public:
  TwoLevelPacking(const TwoLevelSlice& slice, const Progress& progress)
      : m_slice(slice),
        m_shape(slice.shape),
        m_progress(progress),
        m_gpuCount(static_cast<int>(slice.supply.size())),
        m_boxCount(static_cast<int>(m_shape.boxes.size())),
        m_firstTree(m_shape.boxes.size() + 1, 0),
        m_treesOf(slice.supply.size()),
        m_entries(m_shape.boxes.size()),
        m_relays(m_shape.boxes.size()),
        m_sent(slice.supply.size(), 0),
        m_mark(slice.supply.size(), 0) {}

  /// False where no trees are found.
  /// @param nearness see TwoLevelEntries
  [[nodiscard]] bool plan(int nearness) {
    orderTrees();
    TwoLevelEntries counts(m_shape, m_slice.supply, nearness, m_progress);
    if (!counts.count()) {
      return false;
    }
    m_extraStart.assign(m_boxCount, 0);
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      if (!dealEntries(box, counts)) {
        return false;
      }
    }
    if (!chooseSenders(counts)) {
      return false;
    }
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      if (!shareChildren(box)) {
        return false;
      }
      std::stable_sort(m_relays[box].begin(), m_relays[box].end(),
                       [](const Relay& a, const Relay& b) { return a.tree < b.tree; });
    }
    return true;
  }

  /// Calls visitInner(parent, child) and visitOuter(parent, child) for all edges of all trees, box by box.
  template <typename VisitInner, typename VisitOuter>
  void visitEdges(const VisitInner& visitInner, const VisitOuter& visitOuter) {
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      std::size_t relay = 0;
      for (int tree = m_firstTree[box]; tree < m_firstTree[box + 1]; ++tree) {
        visitOwn(tree, relay, visitInner);
      }
      const std::vector<Entry>& entries = m_entries[box];
      for (std::size_t first = 0; first < entries.size();) {
        std::size_t last = first;
        for (; last < entries.size() && entries[last].tree == entries[first].tree; ++last) {
          visitOuter(entries[last].sender, entries[last].gpu);
        }
        visitBox(box, first, last, visitInner);
        first = last;
      }
    }
  }

  /// Calls begin(root), then add(parent, child) for all edges of the tree, for one tree after the other.
  template <typename Begin, typename Add>
  void visitTrees(const Begin& begin, const Add& add) {
    std::vector<std::size_t> next(m_boxCount, 0);  // entries are sorted by tree
    for (int box = 0; box < m_boxCount; ++box) {
      std::size_t relay = 0;
      for (int tree = m_firstTree[box]; tree < m_firstTree[box + 1]; ++tree) {
        throwIfCancelled(m_progress);
        begin(m_rootOf[tree]);
        visitOwn(tree, relay, add);
        for (int other = 0; other < m_boxCount; ++other) {
          if (other == box) {
            continue;
          }
          const std::vector<Entry>& entries = m_entries[other];
          const std::size_t first = next[other];
          std::size_t& last = next[other];
          for (; last < entries.size() && entries[last].tree == tree; ++last) {
            add(entries[last].sender, entries[last].gpu);
          }
          visitBox(other, first, last, add);
        }
      }
    }
  }

private:
  [[nodiscard]] int64_t trees(int rank) const { return m_slice.supply[rank]; }
  [[nodiscard]] const std::vector<int>& gpusOf(int box) const { return m_shape.boxes[box]; }
  [[nodiscard]] int treesIn(int box) const { return m_firstTree[box + 1] - m_firstTree[box]; }
  [[nodiscard]] int boxOfTree(int tree) const { return m_shape.boxOf[m_rootOf[tree]]; }

  /// Numbers the trees box by box; within a box one of each root, then the next of each.
  void orderTrees() {
    for (int box = 0; box < m_boxCount; ++box) {
      bool isLeft = true;
      for (int64_t copy = 0; isLeft; ++copy) {
        isLeft = false;
        for (const int rank : gpusOf(box)) {
          if (copy < trees(rank)) {
            m_treesOf[rank].push_back(static_cast<int>(m_rootOf.size()));
            m_rootOf.push_back(rank);
            isLeft = true;
          }
        }
      }
      m_firstTree[box + 1] = static_cast<int>(m_rootOf.size());
    }
  }

  /// Deals the entries of the box's GPUs to the trees from outside. Those of one source box lie in a row, GPU by GPU,
  /// and go to its trees in turn: no GPU has more of them than there are trees, so that no tree gets a GPU twice, and
  /// every tree gets its even part of them.
  bool dealEntries(int box, TwoLevelEntries& counts) {
    const std::vector<std::vector<int64_t>> perSource = counts.entriesAt(box);
    std::vector<Entry>& entries = m_entries[box];
    std::vector<int> row;
    for (int source = 0; source < m_boxCount; ++source) {
      if (source == box || treesIn(source) == 0) {
        continue;
      }
      row.clear();
      // Trees with one entry more than others have it at the ends of the row, so rows begin at different GPUs.
      for (std::size_t i = 0; i < gpusOf(box).size(); ++i) {
        const std::size_t place = (i + gpusOf(box).size() * source / m_boxCount) % gpusOf(box).size();
        if (perSource[source][place] > treesIn(source)) {
          return false;
        }
        row.insert(row.end(), perSource[source][place], gpusOf(box)[place]);
      }
      const auto all = static_cast<int>(row.size());
      m_progress.spend(row.size());
      for (int i = 0; i < treesIn(source); ++i) {
        int slot = (i - m_extraStart[source] + treesIn(source)) % treesIn(source);
        if (slot >= all) {
          return false;
        }
        for (; slot < all; slot += treesIn(source)) {
          entries.push_back({m_firstTree[source] + i, row[slot]});
        }
      }
      m_extraStart[source] = (m_extraStart[source] + all) % treesIn(source);
    }
    return true;
  }

  /// Roots first; what they cannot send goes by the other GPUs of their box on the same networks in turn.
  bool chooseSenders(const TwoLevelEntries& counts) {
    std::vector<Entry*> others;
    for (std::vector<Entry>& entries : m_entries) {
      for (Entry& entry : entries) {
        const int root = m_rootOf[entry.tree];
        if (!mayServe(root, entry.gpu)) {
          others.push_back(&entry);
          continue;
        }
        entry.sender = root;
        ++m_sent[root];
      }
    }
    m_progress.spend(others.size());
    std::vector<std::size_t> next(std::size_t(m_boxCount) * counts.classCount(), 0);
    for (Entry* entry : others) {
      const int source = boxOfTree(entry->tree);
      const std::vector<int>& senders = gpusOf(source);
      std::size_t& place = next[std::size_t(source) * counts.classCount() + counts.classOf(entry->gpu)];
      for (std::size_t tries = 0; tries < senders.size() && entry->sender < 0; ++tries, ++place) {
        const int sender = senders[place % senders.size()];
        entry->sender = mayServe(sender, entry->gpu) ? sender : -1;
      }
      if (entry->sender < 0) {
        return false;
      }
      ++m_sent[entry->sender];
    }
    return true;
  }

  [[nodiscard]] bool mayServe(int sender, int receiver) const {
    return m_sent[sender] < m_shape.outerOut[sender] &&
           shareNetwork(m_shape.networksOf[sender], m_shape.networksOf[receiver]);
  }

  /// How many GPUs of the box take each tree from each of its entries.
  bool shareChildren(int box) {
    std::vector<Entry>& entries = m_entries[box];
    const auto others = static_cast<int64_t>(gpusOf(box).size()) - 1;
    std::vector<int64_t> room(m_gpuCount, 0);
    for (const int rank : gpusOf(box)) {
      room[rank] = m_shape.innerOut[rank] - trees(rank) * others;
    }
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (std::size_t first = 0; first < entries.size();) {
      std::size_t last = first + 1;
      while (last < entries.size() && entries[last].tree == entries[first].tree) {
        ++last;
      }
      runs.emplace_back(first, last);
      first = last;
    }
    // Trees with one entry leave no choice, so they come first.
    for (const bool isSingle : {true, false}) {
      for (const auto& [first, last] : runs) {
        if ((last - first == 1) == isSingle) {
          const auto children = others + 1 - static_cast<int64_t>(last - first);
          m_progress.spend(children);
          shareEvenly(entries.data() + first, last - first, children, room);
        }
      }
    }
    takeRelays(box, room);
    return rebalance(entries, runs, gpusOf(box), room, m_progress);
  }

  /// Deals children to the entries of one tree so that the room left comes as close to equal as can be.
  static void shareEvenly(Entry* entries, std::size_t count, int64_t children, std::vector<int64_t>& room) {
    if (count == 1 || children == 0) {
      entries[0].children = children;
    } else if (count == 2) {
      const int64_t difference = room[entries[0].gpu] - room[entries[1].gpu];
      entries[0].children = std::clamp<int64_t>((children + difference + 1) / 2, 0, children);
      entries[1].children = children - entries[0].children;
    } else {
      std::vector<Entry*> byRoom(count);
      std::iota(byRoom.begin(), byRoom.end(), entries);
      const auto roomOf = [&](const Entry* entry) { return room[entry->gpu]; };
      std::sort(byRoom.begin(), byRoom.end(),
                [&](const Entry* a, const Entry* b) { return std::pair(-roomOf(a), a) < std::pair(-roomOf(b), b); });
      // The first `used` come down to one level, which is not above the next one's room.
      int64_t sum = 0;
      std::size_t used = 0;
      while (used < count && sum - static_cast<int64_t>(used) * roomOf(byRoom[used]) < children) {
        sum += roomOf(byRoom[used++]);
      }
      const int64_t above = sum - children;
      const auto parts = static_cast<int64_t>(used);
      const int64_t level = above >= 0 ? above / parts : -((-above + parts - 1) / parts);
      int64_t spare = above - level * parts;  // this many keep one more
      for (std::size_t i = 0; i < used; ++i) {
        byRoom[i]->children = roomOf(byRoom[i]) - level - (spare > 0 ? 1 : 0);
        spare -= spare > 0 ? 1 : 0;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      room[entries[i].gpu] -= entries[i].children;
    }
  }

  /// Lets overloaded GPUs send fewer of their own trees inside their box: relays with room pass them on there.
  void takeRelays(int box, std::vector<int64_t>& room) {
    const std::vector<int>& gpus = gpusOf(box);
    std::vector<int> relays;
    for (const int rank : gpus) {
      for (std::size_t i = 0; i < m_treesOf[rank].size() && room[rank] < 0; ++i) {
        const int tree = m_treesOf[rank][i];
        m_progress.spend(gpus.size());
        // GPUs that serve other boxes stay next to the root.
        auto left = static_cast<int64_t>(gpus.size()) - 1 - static_cast<int64_t>(sendersOf(tree).size());
        while (left > 1 && room[rank] < 0) {
          const int relay =
              *std::max_element(gpus.begin(), gpus.end(), [&](int a, int b) { return room[a] < room[b]; });
          // The relay itself may be one of those that are left.
          const int64_t amount = std::min({room[relay], -room[rank], left - 1});
          if (amount <= 0) {
            return;
          }
          m_relays[box].push_back({tree, relay, amount});
          room[relay] -= amount;
          room[rank] += amount;
          left -= amount + 1;
        }
      }
    }
  }

  /// GPUs beside the root that serve entries of the tree.
  const std::vector<int>& sendersOf(int tree) {
    if (m_senders.empty()) {
      m_senders.resize(m_rootOf.size());
      for (const std::vector<Entry>& entries : m_entries) {
        for (const Entry& entry : entries) {
          std::vector<int>& senders = m_senders[entry.tree];
          if (entry.sender != m_rootOf[entry.tree] &&
              std::find(senders.begin(), senders.end(), entry.sender) == senders.end()) {
            senders.push_back(entry.sender);
          }
        }
      }
    }
    return m_senders[tree];
  }

  /// Calls visit(parent, child) for all edges of a tree in its root's box, parents first. Relays are sorted by tree,
  /// and `relay` is the first one of this tree or of a later one; it is moved on.
  template <typename Visit>
  void visitOwn(int tree, std::size_t& relay, const Visit& visit) {
    const int root = m_rootOf[tree];
    const std::vector<int>& gpus = gpusOf(m_shape.boxOf[root]);
    const std::vector<Relay>& relays = m_relays[m_shape.boxOf[root]];
    const std::size_t first = relay;
    while (relay < relays.size() && relays[relay].tree == tree) {
      ++relay;
    }
    if (first == relay) {
      for (const int other : gpus) {
        if (other != root) {
          visit(root, other);
        }
      }
      return;
    }
    ++m_marks;
    m_mark[root] = m_marks;
    const auto keep = [&](int gpu) {
      if (m_mark[gpu] != m_marks) {
        m_mark[gpu] = m_marks;
        visit(root, gpu);
      }
    };
    for (const int sender : sendersOf(tree)) {
      keep(sender);
    }
    for (std::size_t i = first; i < relay; ++i) {
      keep(relays[i].gpu);
    }
    std::size_t at = first;
    int64_t taken = 0;
    for (const int other : gpus) {
      if (m_mark[other] == m_marks) {
        continue;
      }
      while (at < relay && taken == relays[at].children) {
        ++at;
        taken = 0;
      }
      ++taken;
      visit(at < relay ? relays[at].gpu : root, other);
    }
  }

  /// Calls visit(parent, child) for all edges of a tree inside a box that it enters from outside. Which GPU hangs on
  /// which entry rotates with the tree, so that all pairs carry equal loads.
  template <typename Visit>
  void visitBox(int box, std::size_t first, std::size_t last, const Visit& visit) {
    const std::vector<Entry>& entries = m_entries[box];
    const std::vector<int>& gpus = gpusOf(box);
    ++m_marks;
    for (std::size_t e = first; e < last; ++e) {
      m_mark[entries[e].gpu] = m_marks;
    }
    std::size_t entry = first;
    int64_t taken = 0;
    std::size_t next = static_cast<std::size_t>(entries[first].tree) % gpus.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const int child = gpus[next];
      next = next + 1 == gpus.size() ? 0 : next + 1;
      if (m_mark[child] == m_marks) {
        continue;
      }
      while (taken == entries[entry].children) {
        ++entry;
        taken = 0;
      }
      ++taken;
      visit(entries[entry].gpu, child);
    }
  }

  const TwoLevelSlice& m_slice;
  const TwoLevelShape& m_shape;
  const Progress& m_progress;
  int m_gpuCount;
  int m_boxCount;
  std::vector<int> m_firstTree;               // by box, and the end
  std::vector<int> m_rootOf;                  // by tree
  std::vector<std::vector<int>> m_treesOf;    // by root
  std::vector<int> m_extraStart;              // by source box: the tree that the next box deals to first
  std::vector<std::vector<Entry>> m_entries;  // by target box, sorted by tree
  std::vector<std::vector<Relay>> m_relays;   // by box
  std::vector<std::vector<int>> m_senders;    // by tree; made when first needed
  std::vector<int64_t> m_sent;                // by GPU: entries elsewhere that it serves
  std::vector<int64_t> m_mark;                // by GPU: the last visit that marked it
  int64_t m_marks = 0;
};

/// The trees of all slices, routed together.
std::optional<TwoLevelForest> growSlices(const Network& network, const std::vector<TreeArc>& capacities,
                                         const std::vector<int64_t>& supply, const TwoLevelShape& shape,
                                         const std::vector<TwoLevelSlice>& slices, int nearness,
                                         const Progress& progress) {
  const std::size_t gpuCount = network.gpus.size();
  // The senders of one receiver lie side by side, since routing goes through them.
  const auto pairOf = [&](int from, int to) { return static_cast<std::size_t>(to) * gpuCount + from; };
  std::vector<std::int32_t> inner(gpuCount * gpuCount, 0);
  std::vector<std::int32_t> outer(gpuCount * gpuCount, 0);
  std::vector<TwoLevelPacking> packings;
  packings.reserve(slices.size());
  for (const TwoLevelSlice& slice : slices) {
    TwoLevelPacking& packing = packings.emplace_back(slice, progress);
    if (!packing.plan(nearness)) {
      return std::nullopt;
    }
    const auto copies = static_cast<std::int32_t>(slice.copies);
    packing.visitEdges([&](int parent, int child) { inner[pairOf(parent, child)] += copies; },
                       [&](int parent, int child) { outer[pairOf(parent, child)] += copies; });
  }
  auto topology = routeTwoLevel(
      network, capacities, shape, [&](int from, int to) { return int64_t{inner[pairOf(from, to)]}; },
      {[&](int from, int to) { return int64_t{outer[pairOf(from, to)]}; }}, progress);
  if (!topology) {
    return std::nullopt;
  }
  TwoLevelForest forest;
  forest.topology = *std::move(topology);
  forest.logical = logicalProblem(network, forest.topology, supply);
  std::vector<std::int32_t>& arcOf = inner;  // its numbers are no longer needed
  const std::vector<TreeArc>& arcs = forest.logical.packing.arcs;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    arcOf[pairOf(arcs[i].tail, arcs[i].head)] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    packings[i].visitTrees(
        [&](int root) {
          PackedTree& tree = forest.trees.emplace_back();
          tree.root = root;
          tree.multiplicity = slices[i].copies;
          tree.arcs.reserve(gpuCount - 1);
        },
        [&](int parent, int child) { forest.trees.back().arcs.push_back(arcOf[pairOf(parent, child)]); });
  }
  return forest;
}

}  // namespace

std::optional<TwoLevelForest> growTwoLevel(const Network& network, const std::vector<TreeArc>& capacities,
                                           const std::vector<int64_t>& supply, const Progress& progress) {
  const auto gpus = static_cast<int64_t>(network.gpus.size());
  if (network.gpus.size() > kMaxGpus || !areSumsSmall(network, capacities, supply)) {
    return std::nullopt;
  }
  const std::vector<TwoLevelShape> shapes = twoLevelShapes(network, capacities);
  for (const TwoLevelShape& shape : shapes) {
    if (auto forest = growRotated(network, capacities, supply, shape, progress)) {
      return forest;
    }
  }
  std::vector<int64_t> supplyByRank;
  for (const int gpu : network.gpus) {
    supplyByRank.push_back(supply[gpu]);
  }
  const Int128 trees = treeCount(network, supply);
  if (trees > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;  // they are counted for each pair of GPUs
  }
  for (const TwoLevelShape& shape : shapes) {
    const bool hasLeaves = std::set<int>(shape.leafOf.begin(), shape.leafOf.end()).size() > 1;
    const auto grow = [&](const std::vector<TwoLevelSlice>& slices) -> std::optional<TwoLevelForest> {
      // Where links to the spines are scarce, entries from under the same leaf help.
      for (int nearness = 0; nearness <= (hasLeaves ? TwoLevelEntries::kMaxNearness : 0); nearness += 2) {
        if (auto forest = growSlices(network, capacities, supply, shape, slices, nearness, progress)) {
          return forest;
        }
      }
      return std::nullopt;
    };
    const auto slices = twoLevelSlices(shape, supplyByRank);
    if (!slices.empty() && static_cast<int64_t>(slices.size()) * gpus * gpus <= kMaxEdges) {
      if (auto forest = grow(slices)) {
        return forest;
      }
    }
    if (trees * gpus <= kMaxEdges) {
      if (auto forest = grow({{1, supplyByRank, shape}})) {
        return forest;
      }
    }
  }
  return std::nullopt;
}

}  // namespace coppice::forestcoll
