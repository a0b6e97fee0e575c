// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/rotated_trees.hpp"

#include <algorithm>
#include <utility>

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
    for (const bool isDirect : {true, false}) {
      planTrees(isDirect);
      if (auto forest = build()) {
        return forest;
      }
      if (!m_hasDirect) {
        break;
      }
    }
    return std::nullopt;
  }

private:
  /// A GPU seen from the root: boxes and places further on, modulo their numbers.
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
    const int64_t least = std::max(m_trees * (m_boxCount - 1), m_trees * (gpus - 1) - inner);
    const int64_t most = std::min(outer, m_trees * (gpus - m_size));
    const int64_t even = (least + m_trees - 1) / m_trees * m_trees;
    m_entries = even <= most ? even : least;
    return least <= most;
  }

  void planTrees(bool isDirect) {
    findDirectPlaces(isDirect);
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
    m_isDirect.assign(static_cast<std::size_t>(m_size), 1);
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
    for (int i = 0; i + 1 < m_boxCount; ++i) {
      // The nearest boxes on both sides come first: then those that a GPU sends to are mostly those it hears from.
      const int box = i % 2 == 0 ? 1 + i / 2 : m_boxCount - 1 - i / 2;
      addBox(box, static_cast<int>(each) + (i < more ? 1 : 0), plan.edges);
    }
    return plan;
  }

  void addBox(int box, int count, std::vector<Edge>& edges) const {
    const std::vector<int> entries = entryPlaces(count);
    std::vector<char> isEntry(static_cast<std::size_t>(m_size), 0);
    for (const int place : entries) {
      isEntry[place] = 1;
      edges.push_back({{0, m_isDirect[place] != 0 ? 0 : place}, {box, place}});
    }
    const int64_t others = m_size - count;
    for (int place = 0, number = 0; place < m_size; ++place) {
      if (isEntry[place] == 0) {
        edges.push_back({{box, entries[number * int64_t{count} / others]}, {box, place}});
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

  [[nodiscard]] static int offset(int from, int to, int modulus) { return (to - from + modulus) % modulus; }

  std::optional<TwoLevelForest> build() {
    const auto gpuCount = static_cast<int>(m_network.gpus.size());
    // Trees between two GPUs, by where the second is seen from the first.
    std::vector<int64_t> demand(m_network.gpus.size(), 0);
    const auto place = [&](const Position& from, const Position& to) {
      return offset(from.box, to.box, m_boxCount) * m_size + offset(from.place, to.place, m_size);
    };
    for (const Plan& plan : m_plans) {
      for (const Edge& edge : plan.edges) {
        demand[place(edge.tail, edge.head)] += plan.multiplicity;
      }
    }
    std::vector<Position> positionOf(m_network.gpus.size());
    for (int box = 0; box < m_boxCount; ++box) {
      for (int i = 0; i < m_size; ++i) {
        positionOf[m_shape.boxes[box][i]] = {box, i};
      }
    }
    const PairDemand inner = [&](int from, int to) { return demand[place(positionOf[from], positionOf[to])]; };
    const PairDemand outer = [&](int from, int to) {
      return positionOf[from].box == positionOf[to].box ? 0 : inner(from, to);
    };
    auto topology = routeTwoLevel(m_network, m_capacities, m_shape, inner, outer, m_progress);
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
        const int box = origin.box + position.box;
        const int number = origin.place + position.place;
        return m_shape.boxes[box < m_boxCount ? box : box - m_boxCount][number < m_size ? number : number - m_size];
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
  std::vector<Plan> m_plans;
};

}  // namespace

std::optional<TwoLevelForest> growRotated(const Network& network, const std::vector<TreeArc>& capacities,
                                          const std::vector<int64_t>& supply, const TwoLevelShape& shape,
                                          const Progress& progress) {
  return RotatedTrees(network, capacities, supply, shape, progress).run();
}

}  // namespace coppice::forestcoll
