// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "forestcoll/boxes/rotated_trees.hpp"
#include "forestcoll/boxes/two_level_routes.hpp"
#include "forestcoll/boxes/two_level_shape.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Trees times GPUs, at most: each pair is an edge of the forest.
constexpr int64_t kMaxEdges = int64_t{1} << 27;
constexpr std::size_t kMaxGpus = 8192;

bool share(const std::vector<int>& a, const std::vector<int>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) {
      return true;
    }
    *i < *j ? ++i : ++j;
  }
  return false;
}

/// Raises `values` evenly, from the lowest up, until they sum to `target`; none above its limit. False where the limits
/// do not let them.
bool raiseEvenly(std::vector<int64_t>& values, const std::vector<int64_t>& limits, int64_t target) {
  int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
  if (std::accumulate(limits.begin(), limits.end(), int64_t{0}) < target) {
    return false;
  }
  if (sum >= target) {
    return true;
  }
  const std::vector<int64_t> start = values;
  const auto raisedTo = [&](int64_t level) {
    int64_t total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::max(start[i], std::min(level, limits[i]));
      total += values[i];
    }
    return total;
  };
  int64_t low = 0;  // too little
  int64_t high = *std::max_element(limits.begin(), limits.end());
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (raisedTo(middle) >= target ? high : low) = middle;
  }
  sum = raisedTo(high);
  for (std::size_t i = 0; i < values.size() && sum > target; ++i) {
    if (values[i] == high && start[i] < high) {
      --values[i];
      --sum;
    }
  }
  return true;
}

/// A tree's way into a box.
struct Entry {
  int tree = 0;
  int gpu = 0;
  int sender = -1;       ///< a GPU of the tree's own box
  int64_t children = 0;  ///< GPUs of the box that take the tree from this entry
};

class TwoLevelPacking {
public:
  TwoLevelPacking(const Network& network, const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
                  const TwoLevelShape& shape, const Progress& progress)
      : m_network(network),
        m_capacities(capacities),
        m_supply(supply),
        m_shape(shape),
        m_progress(progress),
        m_gpuCount(static_cast<int>(network.gpus.size())),
        m_boxCount(static_cast<int>(shape.boxes.size())),
        m_firstTree(static_cast<std::size_t>(m_gpuCount) + 1, 0),
        m_treesOfBox(static_cast<std::size_t>(m_boxCount)),
        m_entries(static_cast<std::size_t>(m_boxCount)),
        m_sent(static_cast<std::size_t>(m_gpuCount), 0),
        m_entryOf(static_cast<std::size_t>(m_gpuCount), 0) {
    for (int rank = 0; rank < m_gpuCount; ++rank) {
      m_firstTree[static_cast<std::size_t>(rank) + 1] = m_firstTree[rank] + trees(rank);
    }
    m_treeCount = m_firstTree.back();
  }

  std::optional<TwoLevelForest> run() {
    if (!orderTrees() || !countEntries() || !countBetweenBoxes()) {
      return std::nullopt;
    }
    dealExtras();
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      if (!dealEntries(box)) {
        return std::nullopt;
      }
    }
    if (!chooseSenders()) {
      return std::nullopt;
    }
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      if (!shareChildren(box)) {
        return std::nullopt;
      }
    }
    return build();
  }

private:
  [[nodiscard]] int64_t trees(int rank) const { return m_supply[m_network.gpus[rank]]; }
  [[nodiscard]] const std::vector<int>& gpusOf(int box) const { return m_shape.boxes[box]; }
  [[nodiscard]] int64_t outside(int box) const { return m_treeCount - treesIn(box); }
  [[nodiscard]] int64_t treesIn(int box) const { return static_cast<int64_t>(m_treesOfBox[box].size()); }
  /// What a GPU can pass on inside its box besides its own star.
  [[nodiscard]] int64_t roomInside(int rank) const {
    const auto others = static_cast<int64_t>(gpusOf(m_shape.boxOf[rank]).size()) - 1;
    return m_shape.innerOut[rank] - trees(rank) * others;
  }
  /// The box at that distance before `box`, and the box at that distance behind it.
  [[nodiscard]] int before(int box, int distance) const { return (box - distance + m_boxCount) % m_boxCount; }
  [[nodiscard]] int behind(int box, int distance) const { return (box + distance) % m_boxCount; }

  /// Trees of a box in the order in which they are dealt: one of each root, then the next of each.
  bool orderTrees() {
    m_rootOf.resize(static_cast<std::size_t>(m_treeCount));
    for (int box = 0; box < m_boxCount; ++box) {
      bool isLeft = true;
      for (int64_t copy = 0; isLeft; ++copy) {
        isLeft = false;
        for (const int rank : gpusOf(box)) {
          if (copy < trees(rank)) {
            const int64_t tree = m_firstTree[rank] + copy;
            m_rootOf[tree] = rank;
            m_treesOfBox[box].push_back(static_cast<int>(tree));
            isLeft = true;
          }
        }
      }
    }
    for (int rank = 0; rank < m_gpuCount; ++rank) {
      if (roomInside(rank) < 0) {
        return false;
      }
    }
    return true;
  }

  /// a_g for every GPU.
  bool countEntries() {
    m_entriesAt.assign(static_cast<std::size_t>(m_gpuCount), 0);
    m_total.assign(static_cast<std::size_t>(m_boxCount), 0);
    for (int box = 0; box < m_boxCount; ++box) {
      const int64_t foreign = outside(box);
      std::vector<int64_t> least;
      std::vector<int64_t> most;
      int64_t room = 0;
      for (const int rank : gpusOf(box)) {
        most.push_back(std::min(m_shape.outerIn[rank], foreign));
        least.push_back(std::max<int64_t>(0, m_treeCount - trees(rank) - m_shape.innerIn[rank]));
        if (least.back() > most.back()) {
          return false;
        }
        room += roomInside(rank);
      }
      const auto size = static_cast<int64_t>(gpusOf(box).size());
      if (!raiseEvenly(least, most, std::max(foreign, size * foreign - room))) {
        return false;
      }
      for (std::size_t i = 0; i < least.size(); ++i) {
        m_entriesAt[gpusOf(box)[i]] = least[i];
        m_total[box] += least[i];
      }
    }
    return true;
  }

  /// How many entries the trees of each box have in each other box: in proportion to the trees, and where a box cannot
  /// send that many, less of its and more of others.
  bool countBetweenBoxes() {
    m_between.assign(static_cast<std::size_t>(m_boxCount) * static_cast<std::size_t>(m_boxCount), 0);
    std::vector<int64_t> room(static_cast<std::size_t>(m_boxCount), 0);  // by source: what it can still send
    for (int rank = 0; rank < m_gpuCount; ++rank) {
      room[m_shape.boxOf[rank]] += m_shape.outerOut[rank];
    }
    for (int box = 0; box < m_boxCount; ++box) {
      const int64_t foreign = outside(box);
      int64_t seen = 0;
      for (int distance = 1; distance < m_boxCount && foreign > 0; ++distance) {
        const int source = before(box, distance);
        const int64_t next = seen + treesIn(source);
        m_between[pair(source, box)] = share(m_total[box], next, foreign) - share(m_total[box], seen, foreign);
        room[source] -= m_between[pair(source, box)];
        seen = next;
      }
    }
    for (int source = 0; source < m_boxCount; ++source) {
      for (int distance = 1; distance < m_boxCount && room[source] < 0; ++distance) {
        const int box = behind(source, distance);
        // An even part of what is too much, for the boxes that are left.
        const int64_t part = (-room[source] + m_boxCount - distance - 1) / (m_boxCount - distance);
        int64_t wanted = std::min(part, m_between[pair(source, box)] - treesIn(source));
        for (int other = 0; other < m_boxCount && wanted > 0; ++other) {
          if (other == source || other == box || room[other] <= 0) {
            continue;
          }
          const auto size = static_cast<int64_t>(gpusOf(box).size());
          const int64_t amount = std::min({wanted, room[other], treesIn(other) * size - m_between[pair(other, box)]});
          m_between[pair(source, box)] -= amount;
          m_between[pair(other, box)] += amount;
          room[source] += amount;
          room[other] -= amount;
          wanted -= amount;
        }
      }
      if (room[source] < 0) {
        return false;
      }
    }
    return true;
  }

  /// Which trees have one entry more than the others of the same box: by source and target box a window over the
  /// source's trees.
  void dealExtras() {
    m_extraStart.assign(m_between.size(), 0);
    for (int source = 0; source < m_boxCount; ++source) {
      int64_t start = 0;
      for (int distance = 1; distance < m_boxCount && treesIn(source) > 0; ++distance) {
        const std::size_t index = pair(source, behind(source, distance));
        m_extraStart[index] = start;
        start = (start + m_between[index]) % treesIn(source);
      }
    }
  }

  [[nodiscard]] static int64_t share(int64_t whole, int64_t part, int64_t of) {
    return static_cast<int64_t>(Int128{whole} * part / of);
  }
  [[nodiscard]] std::size_t pair(int source, int target) const {
    return static_cast<std::size_t>(source) * static_cast<std::size_t>(m_boxCount) + static_cast<std::size_t>(target);
  }
  [[nodiscard]] bool hasExtra(int source, int target, int64_t place) const {
    const std::size_t index = pair(source, target);
    return (place - m_extraStart[index] + treesIn(source)) % treesIn(source) < m_between[index] % treesIn(source);
  }

  /// Deals the trees from outside to the GPUs of the box, each to as many as it has entries there. The GPU whose share
  /// of a_g is dealt the least comes next (stride scheduling), so that after all trees each has exactly a_g.
  bool dealEntries(int box) {
    struct Turn {
      int64_t dealt = 0;
      int64_t all = 0;
      int gpu = 0;
    };
    // Whether a comes after b: a heap has the last one at its top.
    const auto isLater = [](const Turn& a, const Turn& b) {
      const Int128 left = Int128{2 * a.dealt + 1} * b.all;
      const Int128 right = Int128{2 * b.dealt + 1} * a.all;
      return left != right ? left > right : a.gpu > b.gpu;
    };
    std::vector<Turn> heap;
    for (const int rank : gpusOf(box)) {
      if (m_entriesAt[rank] > 0) {
        heap.push_back({0, m_entriesAt[rank], rank});
      }
    }
    std::make_heap(heap.begin(), heap.end(), isLater);
    std::vector<Entry>& entries = m_entries[box];
    entries.reserve(static_cast<std::size_t>(m_total[box]));
    for (const bool isExtra : {false, true}) {
      for (int distance = 1; distance < m_boxCount; ++distance) {
        const int source = before(box, distance);
        const std::vector<int>& trees = m_treesOfBox[source];
        for (std::size_t place = 0; place < trees.size(); ++place) {
          if (hasExtra(source, box, static_cast<int64_t>(place)) != isExtra) {
            continue;
          }
          const std::size_t count =
              static_cast<std::size_t>(m_between[pair(source, box)] / treesIn(source) + (isExtra ? 1 : 0));
          if (count > heap.size()) {
            return false;
          }
          m_progress.spend(count);
          for (std::size_t i = 0; i < count; ++i) {
            const auto end = heap.end() - static_cast<std::ptrdiff_t>(i);
            std::pop_heap(heap.begin(), end, isLater);
            entries.push_back({trees[place], (end - 1)->gpu});
          }
          for (std::size_t i = count; i-- > 0;) {
            const auto end = heap.end() - static_cast<std::ptrdiff_t>(i);
            ++(end - 1)->dealt;
            std::push_heap(heap.begin(), end, isLater);
          }
        }
      }
    }
    for (const Turn& turn : heap) {
      if (turn.dealt > std::min(m_shape.outerIn[turn.gpu], outside(box)) ||
          m_treeCount - trees(turn.gpu) - turn.dealt > m_shape.innerIn[turn.gpu]) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool maySend(int sender, int receiver) const {
    return share(m_shape.networksOf[sender], m_shape.networksOf[receiver]);
  }
  [[nodiscard]] static bool share(const std::vector<int>& a, const std::vector<int>& b) {
    return forestcoll::share(a, b);
  }

  /// Roots first; what they cannot send goes by the GPU of their box with the most capacity left.
  bool chooseSenders() {
    m_attached.resize(static_cast<std::size_t>(m_boxCount));
    for (int rank = 0; rank < m_gpuCount; ++rank) {
      for (const int network : m_shape.networksOf[rank]) {
        m_attached[m_shape.boxOf[rank]][network].push_back(rank);
      }
    }
    std::vector<Entry*> others;
    for (std::vector<Entry>& entries : m_entries) {
      for (Entry& entry : entries) {
        const int root = m_rootOf[entry.tree];
        if (m_sent[root] < m_shape.outerOut[root] && maySend(root, entry.gpu)) {
          setSender(entry, root);
        } else {
          others.push_back(&entry);
        }
      }
    }
    m_progress.spend(others.size());
    for (Entry* entry : others) {
      if (!findSender(*entry)) {
        return false;
      }
    }
    return true;
  }

  void setSender(Entry& entry, int sender) {
    if (entry.sender >= 0) {
      --m_sent[entry.sender];
    }
    entry.sender = sender;
    ++m_sent[sender];
  }

  [[nodiscard]] int roomiestSender(const Entry& entry) const {
    int best = -1;
    int64_t most = 0;
    const auto& attached = m_attached[m_shape.boxOf[m_rootOf[entry.tree]]];
    for (const int network : m_shape.networksOf[entry.gpu]) {
      const auto senders = attached.find(network);
      if (senders == attached.end()) {
        continue;
      }
      for (const int sender : senders->second) {
        const int64_t left = m_shape.outerOut[sender] - m_sent[sender];
        if (left > most) {
          best = sender;
          most = left;
        }
      }
    }
    return best;
  }

  /// The entry's own choice, or room made by one other entry of the same source box that has another sender to go to.
  bool findSender(Entry& entry) {
    if (const int sender = roomiestSender(entry); sender >= 0) {
      setSender(entry, sender);
      return true;
    }
    const int source = m_shape.boxOf[m_rootOf[entry.tree]];
    for (std::vector<Entry>& entries : m_entries) {
      m_progress.spend(entries.size());
      for (Entry& other : entries) {
        if (other.sender < 0 || m_shape.boxOf[other.sender] != source || !maySend(other.sender, entry.gpu)) {
          continue;
        }
        if (const int elsewhere = roomiestSender(other); elsewhere >= 0) {
          const int freed = other.sender;
          setSender(other, elsewhere);
          setSender(entry, freed);
          return true;
        }
      }
    }
    return false;
  }

  /// How many GPUs of the box take each tree from each of its entries.
  bool shareChildren(int box) {
    std::vector<Entry>& entries = m_entries[box];
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return std::pair(a.tree, a.gpu) < std::pair(b.tree, b.gpu); });
    std::vector<int64_t> room(static_cast<std::size_t>(m_gpuCount), 0);
    for (const int rank : gpusOf(box)) {
      room[rank] = roomInside(rank);
    }
    // Trees with one entry leave no choice, so they come first.
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (std::size_t first = 0; first < entries.size();) {
      std::size_t last = first + 1;
      while (last < entries.size() && entries[last].tree == entries[first].tree) {
        ++last;
      }
      runs.emplace_back(first, last);
      first = last;
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const auto& a, const auto& b) { return a.second - a.first < b.second - b.first; });
    for (const auto& [first, last] : runs) {
      const auto children = static_cast<int64_t>(gpusOf(box).size()) - static_cast<int64_t>(last - first);
      m_progress.spend(static_cast<std::size_t>(children));
      shareEvenly(entries.data() + first, last - first, children, room);
    }
    return relieve(box, runs, room);
  }

  /// Deals children to the entries of one tree so that the room left comes as close to equal as can be.
  static void shareEvenly(Entry* entries, std::size_t count, int64_t children, std::vector<int64_t>& room) {
    if (count == 1) {
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

  /// Moves children from overloaded GPUs to others with room, along chains of trees that have both as entries.
  bool relieve(int box, const std::vector<std::pair<std::size_t, std::size_t>>& runs, std::vector<int64_t>& room) {
    std::vector<Entry>& entries = m_entries[box];
    std::vector<std::vector<std::size_t>> runsAt(static_cast<std::size_t>(m_gpuCount));
    struct Move {
      std::size_t from = 0;  ///< entries of one tree
      std::size_t to = 0;
    };
    std::vector<Move> reachedBy(static_cast<std::size_t>(m_gpuCount));
    std::vector<int> queue;
    std::vector<char> isReached(static_cast<std::size_t>(m_gpuCount));
    for (const int overloaded : gpusOf(box)) {
      while (room[overloaded] < 0) {
        throwIfCancelled(m_progress);
        if (runsAt[overloaded].empty()) {  // built when first needed
          for (std::size_t i = 0; i < runs.size(); ++i) {
            for (std::size_t e = runs[i].first; e < runs[i].second && runs[i].second - runs[i].first > 1; ++e) {
              runsAt[entries[e].gpu].push_back(i);
            }
          }
        }
        std::fill(isReached.begin(), isReached.end(), char{0});
        queue.assign(1, overloaded);
        isReached[overloaded] = 1;
        int found = -1;
        for (std::size_t i = 0; i < queue.size() && found < 0; ++i) {
          const int gpu = queue[i];
          m_progress.spend(runsAt[gpu].size());
          for (const std::size_t run : runsAt[gpu]) {
            std::size_t own = runs[run].first;
            while (entries[own].gpu != gpu) {
              ++own;
            }
            for (std::size_t e = runs[run].first; e < runs[run].second && entries[own].children > 0; ++e) {
              const int other = entries[e].gpu;
              if (isReached[other] == 0) {
                isReached[other] = 1;
                reachedBy[other] = {own, e};
                queue.push_back(other);
                found = found < 0 && room[other] > 0 ? other : found;
              }
            }
          }
        }
        if (found < 0) {
          return false;
        }
        int64_t amount = std::min(-room[overloaded], room[found]);
        for (int gpu = found; gpu != overloaded; gpu = entries[reachedBy[gpu].from].gpu) {
          amount = std::min(amount, entries[reachedBy[gpu].from].children);
        }
        for (int gpu = found; gpu != overloaded; gpu = entries[reachedBy[gpu].from].gpu) {
          entries[reachedBy[gpu].from].children -= amount;
          entries[reachedBy[gpu].to].children += amount;
        }
        room[overloaded] += amount;
        room[found] -= amount;
      }
    }
    return true;
  }

  /// Calls visit(parent, child) for all edges of a tree inside a box that it enters from outside. Which GPU hangs on
  /// which entry is rotated from tree to tree, so that the pairs carry equal loads.
  template <typename Visit>
  void visitBox(int box, std::size_t first, std::size_t last, const Visit& visit) {
    const std::vector<Entry>& entries = m_entries[box];
    const std::vector<int>& gpus = gpusOf(box);
    ++m_visits;
    for (std::size_t e = first; e < last; ++e) {
      m_entryOf[entries[e].gpu] = m_visits;
    }
    std::size_t entry = first;
    int64_t taken = 0;
    std::size_t next = static_cast<std::size_t>(entries[first].tree) % gpus.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const int child = gpus[next];
      next = next + 1 == gpus.size() ? 0 : next + 1;
      if (m_entryOf[child] == m_visits) {
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

  std::optional<TwoLevelForest> build() {
    const std::size_t pairs = static_cast<std::size_t>(m_gpuCount) * static_cast<std::size_t>(m_gpuCount);
    const auto pairOf = [&](int from, int to) {
      return static_cast<std::size_t>(from) * static_cast<std::size_t>(m_gpuCount) + static_cast<std::size_t>(to);
    };
    std::vector<std::int32_t> inner(pairs, 0);
    std::vector<std::int32_t> outer(pairs, 0);
    for (int box = 0; box < m_boxCount; ++box) {
      throwIfCancelled(m_progress);
      for (const int root : gpusOf(box)) {
        for (const int other : gpusOf(box)) {
          inner[pairOf(root, other)] += static_cast<std::int32_t>(other == root ? 0 : trees(root));
        }
      }
      const std::vector<Entry>& entries = m_entries[box];
      for (std::size_t first = 0; first < entries.size();) {
        std::size_t last = first;
        while (last < entries.size() && entries[last].tree == entries[first].tree) {
          ++outer[pairOf(entries[last].sender, entries[last].gpu)];
          ++last;
        }
        visitBox(box, first, last, [&](int parent, int child) { ++inner[pairOf(parent, child)]; });
        first = last;
      }
    }
    auto topology = routeTwoLevel(
        m_network, m_capacities, m_shape, [&](int from, int to) { return int64_t{inner[pairOf(from, to)]}; },
        [&](int from, int to) { return int64_t{outer[pairOf(from, to)]}; }, m_progress);
    if (!topology) {
      return std::nullopt;
    }
    TwoLevelForest forest;
    forest.topology = *std::move(topology);
    forest.logical = logicalProblem(m_network, forest.topology, m_supply);
    std::vector<int> arcOf(pairs, -1);
    const std::vector<TreeArc>& arcs = forest.logical.packing.arcs;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      arcOf[pairOf(arcs[i].tail, arcs[i].head)] = static_cast<int>(i);
    }
    std::vector<std::size_t> next(static_cast<std::size_t>(m_boxCount),
                                  0);  // entries are sorted by tree, as trees are numbered
    forest.trees.resize(static_cast<std::size_t>(m_treeCount));
    for (int64_t tree = 0; tree < m_treeCount; ++tree) {
      throwIfCancelled(m_progress);
      PackedTree& packed = forest.trees[tree];
      packed.root = m_rootOf[tree];
      packed.arcs.reserve(static_cast<std::size_t>(m_gpuCount) - 1);
      const int own = m_shape.boxOf[packed.root];
      for (const int other : gpusOf(own)) {
        if (other != packed.root) {
          packed.arcs.push_back(arcOf[pairOf(packed.root, other)]);
        }
      }
      for (int box = 0; box < m_boxCount; ++box) {
        if (box == own) {
          continue;
        }
        const std::vector<Entry>& entries = m_entries[box];
        const std::size_t first = next[box];
        std::size_t& last = next[box];
        while (last < entries.size() && entries[last].tree == tree) {
          packed.arcs.push_back(arcOf[pairOf(entries[last].sender, entries[last].gpu)]);
          ++last;
        }
        visitBox(box, first, last, [&](int parent, int child) { packed.arcs.push_back(arcOf[pairOf(parent, child)]); });
      }
    }
    return forest;
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_capacities;
  const std::vector<int64_t>& m_supply;
  const TwoLevelShape& m_shape;
  const Progress& m_progress;
  int m_gpuCount;
  int m_boxCount;
  int64_t m_treeCount = 0;
  std::vector<int64_t> m_firstTree;            // by root
  std::vector<int> m_rootOf;                   // by tree
  std::vector<std::vector<int>> m_treesOfBox;  // in the order of dealing
  std::vector<int64_t> m_entriesAt;            // a_g
  std::vector<int64_t> m_total;                // by box: sum of a_g
  std::vector<int64_t> m_between;              // by source and target box: entries
  std::vector<int64_t> m_extraStart;
  std::vector<std::vector<Entry>> m_entries;                // by target box
  std::vector<std::map<int, std::vector<int>>> m_attached;  // by box and network: GPUs
  std::vector<int64_t> m_sent;                              // by GPU: entries elsewhere that it serves
  std::vector<int64_t> m_entryOf;                           // by GPU: the last visit in which it was an entry
  int64_t m_visits = 0;
};

}  // namespace

std::optional<TwoLevelForest> growTwoLevel(const Network& network, const std::vector<TreeArc>& capacities,
                                           const std::vector<int64_t>& supply, const Progress& progress) {
  const auto gpus = static_cast<int64_t>(network.gpus.size());
  Int128 trees = 0;
  for (const int gpu : network.gpus) {
    trees += supply[gpu];
  }
  if (network.gpus.size() > kMaxGpus) {
    return std::nullopt;
  }
  const std::vector<TwoLevelShape> shapes = twoLevelShapes(network, capacities);
  for (const TwoLevelShape& shape : shapes) {
    if (auto forest = growRotated(network, capacities, supply, shape, progress)) {
      return forest;
    }
  }
  if (trees * gpus > kMaxEdges) {
    return std::nullopt;
  }
  for (const TwoLevelShape& shape : shapes) {
    if (auto forest = TwoLevelPacking(network, capacities, supply, shape, progress).run()) {
      return forest;
    }
  }
  return std::nullopt;
}

}  // namespace coppice::forestcoll
