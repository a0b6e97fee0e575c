// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/rotated_trees.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/boxes/two_level_routes.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

template <typename T>
bool areEqual(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [&](const T& value) { return value == values.front(); });
}

bool share(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int network) { return std::binary_search(b.begin(), b.end(), network); });
}

class RotatedTrees {
public:
  RotatedTrees(const Network& network, const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
               const TwoLevelShape& shape, const Progress& progress)
      : m_network(network),
        m_capacities(capacities),
        m_supply(supply),
        m_shape(shape),
        m_progress(progress),
        m_boxCount(static_cast<int>(shape.boxes.size())),
        m_size(static_cast<int>(shape.boxes.front().size())) {}

  std::optional<TwoLevelForest> run() {
    if (!isRegular() || !countEntries()) {
      return std::nullopt;
    }
    const std::vector<std::vector<int>> groups = leafGroups();
    for (const Senders senders : {Senders::roots, Senders::leaders, Senders::places}) {
      m_boxes = m_shape.boxes;
      m_groupSize = 1;
      if (senders == Senders::leaders) {
        if (groups.empty()) {
          continue;
        }
        m_groupSize = static_cast<int>(groups.front().size());
        m_boxes.clear();
        for (const std::vector<int>& group : groups) {
          for (const int box : group) {
            m_boxes.push_back(m_shape.boxes[box]);
          }
        }
      }
      if (senders == Senders::places && !m_hasDirect) {
        break;
      }
      planTrees(senders);
      if (auto forest = build()) {
        return forest;
      }
    }
    return std::nullopt;
  }

private:
  /// Who serves entries.
  enum class Senders {
    roots,    ///< the root, where it is on the entry's network
    leaders,  ///< the root serves one GPU under each other leaf switch, which serves those of its leaf
    places    ///< the GPU of the root's box with the entry's own number
  };
  /// A GPU seen from the root: boxes and places further on. Boxes are numbered group by group, and rotate among the
  /// groups and within them.
  struct Position {
    int box = 0;
    int place = 0;
  };
  struct Edge {
    Position tail;
    Position head;
  };
  /// One root's tree, which stands for its images.
  struct Plan {
    int64_t multiplicity = 0;
    std::vector<Edge> edges;
  };

  [[nodiscard]] bool isRegular() {
    for (const std::vector<int>& box : m_shape.boxes) {
      if (box.size() != static_cast<std::size_t>(m_size)) {
        return false;
      }
      for (int place = 0; place < m_size; ++place) {
        if (m_shape.networksOf[box[place]] != m_shape.networksOf[m_shape.boxes.front()[place]]) {
          return false;
        }
      }
    }
    const auto supplyOf = [&](int gpu) { return m_supply[gpu]; };
    m_trees = supplyOf(m_network.gpus.front());
    return m_boxCount > 1 && m_trees > 0 && areEqual(m_shape.innerIn) && areEqual(m_shape.innerOut) &&
           areEqual(m_shape.outerIn) && areEqual(m_shape.outerOut) && !m_shape.networksOf.front().empty() &&
           std::all_of(m_network.gpus.begin(), m_network.gpus.end(), [&](int gpu) { return supplyOf(gpu) == m_trees; });
  }

  /// E.
  [[nodiscard]] bool countEntries() {
    const int64_t gpus = int64_t{m_boxCount} * m_size;
    const int64_t inner = std::min(m_shape.innerIn.front(), m_shape.innerOut.front());
    const int64_t outer = std::min(m_shape.outerIn.front(), m_shape.outerOut.front());
    const int64_t min = std::max(m_trees * (m_boxCount - 1), m_trees * (gpus - 1) - inner);
    const int64_t max = std::min(outer, m_trees * (gpus - m_size));
    const int64_t even = (min + m_trees - 1) / m_trees * m_trees;
    m_entries = even <= max ? even : min;
    return min <= max;
  }

  /// Boxes by leaf; empty where these are not equal groups of several boxes.
  [[nodiscard]] std::vector<std::vector<int>> leafGroups() const {
    std::vector<std::vector<int>> groups(1 + *std::max_element(m_shape.leafOf.begin(), m_shape.leafOf.end()));
    for (int box = 0; box < m_boxCount; ++box) {
      groups[m_shape.leafOf[box]].push_back(box);
    }
    const bool isEven = std::all_of(groups.begin(), groups.end(), [&](const std::vector<int>& group) {
      return group.size() > 1 && group.size() == groups.front().size();
    });
    return isEven && groups.size() > 1 ? groups : std::vector<std::vector<int>>();
  }

  void planTrees(Senders senders) {
    m_senders = senders;
    findDirectPlaces(senders != Senders::places);
    m_plans.clear();
    const int64_t fewer = m_entries / m_trees;
    const int64_t extra = m_entries % m_trees;
    m_plans.push_back(planTree(fewer, m_trees - extra));
    if (extra > 0) {
      m_plans.push_back(planTree(fewer + 1, extra));
    }
  }

  /// Places, seen from the root's, that the root may serve in other boxes itself, wherever it is.
  void findDirectPlaces(bool isDirect) {
    m_isDirect.assign(m_size, 1);
    const std::vector<int>& box = m_shape.boxes.front();
    for (int offset = 1; offset < m_size; ++offset) {
      bool mayServe = isDirect;
      for (int place = 0; place < m_size && mayServe; ++place) {
        mayServe = share(m_shape.networksOf[box[place]], m_shape.networksOf[box[(place + offset) % m_size]]);
      }
      m_isDirect[offset] = mayServe ? 1 : 0;
      m_hasDirect = m_hasDirect || mayServe;
    }
  }

  [[nodiscard]] Plan planTree(int64_t entries, int64_t multiplicity) const {
    Plan plan;
    plan.multiplicity = multiplicity;
    for (int place = 1; place < m_size; ++place) {
      plan.edges.push_back({{0, 0}, {0, place}});
    }
    const int64_t each = entries / (m_boxCount - 1);
    const int64_t more = entries % (m_boxCount - 1);
    std::vector<std::vector<int>> places(m_boxCount);  // entries by box
    for (int i = 0; i + 1 < m_boxCount; ++i) {
      // The nearest boxes on both sides come first: then those that a GPU sends to are mostly those it hears from.
      const int box = i % 2 == 0 ? 1 + i / 2 : m_boxCount - 1 - i / 2;
      places[box] = entryPlaces(static_cast<int>(each) + (i < more ? 1 : 0));
    }
    for (const bool isFirst : {true, false}) {
      for (int box = 1; box < m_boxCount; ++box) {
        for (std::size_t i = isFirst ? 0 : 1; i < (isFirst ? 1 : places[box].size()); ++i) {
          plan.edges.push_back({senderOf(box, places[box][i], isFirst, places), {box, places[box][i]}});
        }
      }
    }
    for (int box = 1; box < m_boxCount; ++box) {
      addChildren(box, places[box], plan.edges);
    }
    return plan;
  }

  [[nodiscard]] Position senderOf(int box, int place, bool isFirst, const std::vector<std::vector<int>>& places) const {
    const int leader = box / m_groupSize * m_groupSize;
    if (m_senders == Senders::leaders && leader > 0 && !(box == leader && isFirst)) {
      // The leader cannot serve its own box by the network: the next box of the group does.
      const int server = box == leader ? leader + 1 : leader;
      return {server, places[server].front()};
    }
    return {0, m_isDirect[place] != 0 ? 0 : place};
  }

  /// Entries that came by way of another box stay leaves, so that the tree is no higher than 3.
  void addChildren(int box, const std::vector<int>& entries, std::vector<Edge>& edges) const {
    std::vector<char> isEntry(m_size, 0);
    for (const int place : entries) {
      isEntry[place] = 1;
    }
    const bool isLeader = m_senders == Senders::leaders && box >= m_groupSize && box % m_groupSize == 0;
    const int64_t parents = isLeader ? 1 : static_cast<int64_t>(entries.size());
    const int64_t others = m_size - static_cast<int64_t>(entries.size());
    for (int place = 0, number = 0; place < m_size; ++place) {
      if (isEntry[place] == 0) {
        edges.push_back({{box, entries[number * parents / others]}, {box, place}});
        ++number;
      }
    }
  }

  /// This many places, spread evenly: those that the root may serve itself, then others.
  [[nodiscard]] std::vector<int> entryPlaces(int count) const {
    std::vector<int> direct;
    std::vector<int> others;
    for (int place = 0; place < m_size; ++place) {
      (m_isDirect[place] != 0 ? direct : others).push_back(place);
    }
    std::vector<int> chosen;
    const auto take = [&](const std::vector<int>& from, int64_t number) {
      for (int64_t i = 0; i < number; ++i) {
        chosen.push_back(from[i * static_cast<int64_t>(from.size()) / number]);
      }
    };
    const auto first = std::min<int64_t>(count, static_cast<int64_t>(direct.size()));
    take(direct, first);
    take(others, count - first);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  [[nodiscard]] static int difference(int from, int to, int modulus) { return (to - from + modulus) % modulus; }
  /// The box seen from another one, and the box that is seen so.
  [[nodiscard]] int boxSeen(int from, int to) const {
    return difference(from / m_groupSize, to / m_groupSize, m_boxCount / m_groupSize) * m_groupSize +
           difference(from % m_groupSize, to % m_groupSize, m_groupSize);
  }
  [[nodiscard]] int boxAt(int from, int seen) const {
    return (from / m_groupSize + seen / m_groupSize) % (m_boxCount / m_groupSize) * m_groupSize +
           (from % m_groupSize + seen % m_groupSize) % m_groupSize;
  }

  /// What each GPU can send to each of the planes, where these are the same at all; else nothing.
  [[nodiscard]] std::vector<int64_t> planeCapacities() const {
    const std::vector<int>& planes = m_shape.networksOf.front();
    std::vector<std::vector<int64_t>> ofGpu(m_network.gpus.size(), std::vector<int64_t>(planes.size(), 0));
    std::vector<int> rankOf(m_network.nodeCount, -1);
    for (std::size_t rank = 0; rank < m_network.gpus.size(); ++rank) {
      rankOf[m_network.gpus[rank]] = static_cast<int>(rank);
    }
    for (std::size_t i = 0; i < m_capacities.size(); ++i) {
      const int rank = rankOf[m_capacities[i].tail];
      if (rank >= 0 && m_shape.isInnerArc[i] == 0) {
        const auto plane = std::lower_bound(planes.begin(), planes.end(), m_shape.networkOf[i]) - planes.begin();
        if (static_cast<std::size_t>(plane) < planes.size()) {
          ofGpu[rank][plane] += m_capacities[i].capacity;
        }
      }
    }
    return planes.size() > 1 && areEqual(m_shape.networksOf) && areEqual(ofGpu) ? ofGpu.front()
                                                                                : std::vector<int64_t>();
  }

  /// The demand between boxes split among unequal planes, each with its share of every stretch of GPUs. Routes found
  /// receiver by receiver would use one plane up too early. By plane; empty where there are none.
  ///
  /// Plane p takes, of what the planes before it left, the part c_p / (c_p + c_(p+1) + ...), rounded down over the sum
  /// of all GPUs seen so far. A GPU sends each plane what its images hear from it, so that sums over all GPUs are all
  /// that counts: floor(D c_p / C) is at most c_p where D <= C, and the rest is at most C - c_p.
  [[nodiscard]] std::vector<std::vector<int64_t>> planeDemands(const std::vector<int64_t>& demand) const {
    const std::vector<int64_t> capacities = planeCapacities();
    int64_t left = std::accumulate(capacities.begin(), capacities.end(), int64_t{0});
    std::vector<int64_t> rest = demand;
    std::fill_n(rest.begin(), m_size, 0);  // the own box
    std::vector<std::vector<int64_t>> planes;
    for (const int64_t capacity : capacities) {
      std::vector<int64_t>& plane = planes.emplace_back(rest.size(), 0);
      Int128 seen = 0;
      int64_t dealt = 0;
      for (std::size_t i = 0; i < rest.size() && left > 0; ++i) {
        seen += rest[i];
        const auto until = static_cast<int64_t>(seen * capacity / left);
        plane[i] = std::min(rest[i], until - dealt);
        dealt += plane[i];
        rest[i] -= plane[i];
      }
      left -= capacity;
    }
    return planes;
  }

  std::optional<TwoLevelForest> build() {
    const auto gpuCount = static_cast<int>(m_network.gpus.size());
    // Trees between two GPUs, by where the second is seen from the first.
    std::vector<int64_t> demand(m_network.gpus.size(), 0);
    const auto place = [&](const Position& from, const Position& to) {
      return boxSeen(from.box, to.box) * m_size + difference(from.place, to.place, m_size);
    };
    for (const Plan& plan : m_plans) {
      for (const Edge& edge : plan.edges) {
        demand[place(edge.tail, edge.head)] += plan.multiplicity;
      }
    }
    std::vector<Position> positionOf(m_network.gpus.size());
    for (int box = 0; box < m_boxCount; ++box) {
      for (int i = 0; i < m_size; ++i) {
        positionOf[m_boxes[box][i]] = {box, i};
      }
    }
    const PairDemand inner = [&](int from, int to) { return demand[place(positionOf[from], positionOf[to])]; };
    const PairDemand outer = [&](int from, int to) {
      return positionOf[from].box == positionOf[to].box ? 0 : inner(from, to);
    };
    auto topology = routeTwoLevel(m_network, m_capacities, m_shape, inner, {outer}, m_progress);
    if (!topology) {
      const auto planes = planeDemands(demand);
      if (planes.empty()) {
        return std::nullopt;
      }
      std::vector<PairDemand> outers;
      for (const std::vector<int64_t>& ofPlane : planes) {
        outers.push_back([&](int from, int to) {
          return positionOf[from].box == positionOf[to].box ? 0 : ofPlane[place(positionOf[from], positionOf[to])];
        });
      }
      topology = routeTwoLevel(m_network, m_capacities, m_shape, inner, outers, m_progress);
    }
    if (!topology) {
      return std::nullopt;
    }
    TwoLevelForest forest;
    forest.topology = *std::move(topology);
    forest.logical = logicalProblem(m_network, forest.topology, m_supply);
    const auto pairOf = [&](int from, int to) { return static_cast<std::size_t>(from) * m_network.gpus.size() + to; };
    std::vector<int> arcOf(m_network.gpus.size() * m_network.gpus.size(), -1);
    const std::vector<TreeArc>& arcs = forest.logical.packing.arcs;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      arcOf[pairOf(arcs[i].tail, arcs[i].head)] = static_cast<int>(i);
    }
    forest.trees.reserve(m_network.gpus.size() * m_plans.size());
    for (int root = 0; root < gpuCount; ++root) {
      throwIfCancelled(m_progress);
      const Position origin = positionOf[root];
      const auto image = [&](const Position& position) {
        const int number = origin.place + position.place;
        return m_boxes[boxAt(origin.box, position.box)][number < m_size ? number : number - m_size];
      };
      for (const Plan& plan : m_plans) {
        PackedTree& tree = forest.trees.emplace_back();
        tree.root = root;
        tree.multiplicity = plan.multiplicity;
        tree.arcs.reserve(plan.edges.size());
        for (const Edge& edge : plan.edges) {
          tree.arcs.push_back(arcOf[pairOf(image(edge.tail), image(edge.head))]);
        }
      }
    }
    return forest;
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_capacities;
  const std::vector<int64_t>& m_supply;
  const TwoLevelShape& m_shape;
  const Progress& m_progress;
  int m_boxCount;
  int m_size;                    // GPUs of a box
  int64_t m_trees = 0;           // of a root
  int64_t m_entries = 0;         // of a root's trees in all other boxes
  std::vector<char> m_isDirect;  // by place, seen from the root's
  bool m_hasDirect = false;      // other places than the root's own are direct
  Senders m_senders = Senders::roots;
  int m_groupSize = 1;                    // boxes under one leaf; 1 = leaves do not matter
  std::vector<std::vector<int>> m_boxes;  // ranks, group by group
  std::vector<Plan> m_plans;
};

}  // namespace

std::optional<TwoLevelForest> growRotated(const Network& network, const std::vector<TreeArc>& capacities,
                                          const std::vector<int64_t>& supply, const TwoLevelShape& shape,
                                          const Progress& progress) {
  return RotatedTrees(network, capacities, supply, shape, progress).run();
}

}  // namespace coppice::forestcoll
