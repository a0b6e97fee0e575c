// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/relayed_stars.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/boxes/star_routing.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

class RelayedStars {
public:
  RelayedStars(const Network& network, const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
               const Progress& progress)
      : m_network(network),
        m_capacities(capacities),
        m_supply(supply),
        m_progress(progress),
        m_count(static_cast<int>(network.gpus.size())),
        m_room(network.gpus.size(), 0) {}

  std::optional<TwoLevelForest> run() {
    // Tables have an entry for each pair of terminals.
    constexpr int kMaxTerminals = 4096;
    if (m_count < 3 || m_count > kMaxTerminals || !areSumsSmall(m_network, m_capacities, m_supply) || !measure() ||
        !dealRelays()) {
      return std::nullopt;
    }
    return build();
  }

private:
  /// Equal copies of a root's tree; all terminals are next to the root but `behind` of them, which are next to the
  /// relay: those that follow it in the circle of terminals, the root left out.
  struct Plan {
    int root = 0;
    int64_t copies = 0;
    int relay = -1;  ///< -1: a star
    int behind = 0;
  };

  [[nodiscard]] int64_t trees(int rank) const { return m_supply[m_network.gpus[rank]]; }
  [[nodiscard]] std::size_t pair(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(m_count) + static_cast<std::size_t>(to);
  }

  /// Fills m_room; below 0 where a terminal is short. False where no terminal is, or some cannot receive all trees.
  bool measure() {
    std::vector<int64_t> out(m_network.nodeCount, 0);
    std::vector<int64_t> in(out.size(), 0);
    for (const TreeArc& arc : m_capacities) {
      out[arc.tail] = checkedAdd(out[arc.tail], arc.capacity);
      in[arc.head] = checkedAdd(in[arc.head], arc.capacity);
    }
    int64_t all = 0;
    for (int rank = 0; rank < m_count; ++rank) {
      all = checkedAdd(all, trees(rank));
    }
    int64_t sum = 0;
    bool isShort = false;
    for (int rank = 0; rank < m_count; ++rank) {
      const int node = m_network.gpus[rank];
      if (in[node] < all - trees(rank)) {
        return false;
      }
      m_room[rank] = out[node] - checkedMul(trees(rank), int64_t{m_count} - 1);
      isShort = isShort || m_room[rank] < 0;
      sum = checkedAdd(sum, m_room[rank]);
    }
    return isShort && sum >= 0;
  }

  /// Deals out what the short terminals lack.
  bool dealRelays() {
    std::vector<int> relays;
    for (int rank = 0; rank < m_count; ++rank) {
      if (m_room[rank] > 0) {
        relays.push_back(rank);
      }
    }
    std::stable_sort(relays.begin(), relays.end(), [&](int a, int b) { return m_room[a] > m_room[b]; });
    std::size_t next = 0;
    const int64_t max = m_count - 2;
    for (int root = 0; root < m_count; ++root) {
      int64_t lacking = std::max<int64_t>(0, -m_room[root]);
      int64_t left = trees(root);
      while (lacking > 0) {
        while (next < relays.size() && m_room[relays[next]] == 0) {
          ++next;
        }
        if (next == relays.size() || left == 0) {
          return false;
        }
        const int relay = relays[next];
        const int64_t amount = std::min(lacking, m_room[relay]);
        // Whole copies first; what does not fill one is a copy of its own.
        const Plan plan = amount >= max ? Plan{root, std::min(amount / max, left), relay, static_cast<int>(max)}
                                        : Plan{root, 1, relay, static_cast<int>(amount)};
        m_plans.push_back(plan);
        left -= plan.copies;
        lacking -= plan.copies * plan.behind;
        m_room[relay] -= plan.copies * plan.behind;
      }
      if (left > 0) {
        m_plans.push_back({root, left, -1, 0});
      }
    }
    return true;
  }

  /// Calls visit(parent, child) for all edges of the plan's tree, parents first.
  template <typename Visit>
  void visitEdges(const Plan& plan, const Visit& visit) const {
    const int first = plan.relay < 0 ? plan.root : plan.relay;
    int seen = 0;  // terminals after the relay in the circle
    const auto isBehind = [&] { return plan.relay >= 0 && seen <= plan.behind; };
    for (const bool isNextToRoot : {true, false}) {
      if (isNextToRoot && plan.relay >= 0) {
        visit(plan.root, plan.relay);
      }
      seen = 0;
      for (int step = 1; step < m_count; ++step) {
        const int child = (first + step) % m_count;
        if (child == plan.root) {
          continue;
        }
        ++seen;
        if (isBehind() != isNextToRoot) {
          visit(isNextToRoot ? plan.root : plan.relay, child);
        }
      }
    }
  }

  std::optional<TwoLevelForest> build() {
    std::vector<int64_t> demand(pair(m_count, 0), 0);
    for (const Plan& plan : m_plans) {
      throwIfCancelled(m_progress);
      visitEdges(plan, [&](int parent, int child) { demand[pair(parent, child)] += plan.copies; });
    }
    auto topology = routeDemands(
        m_network, m_capacities,
        [&](int receiver, std::vector<SenderDemand>& senders) {
          for (int sender = 0; sender < m_count; ++sender) {
            if (demand[pair(sender, receiver)] > 0) {
              senders.push_back({sender, demand[pair(sender, receiver)]});
            }
          }
        },
        m_progress);
    if (!topology) {
      return std::nullopt;
    }
    TwoLevelForest forest;
    forest.topology = *std::move(topology);
    forest.logical = logicalProblem(m_network, forest.topology, m_supply);
    std::vector<int> arcOf(demand.size(), -1);
    const std::vector<TreeArc>& arcs = forest.logical.packing.arcs;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      arcOf[pair(arcs[i].tail, arcs[i].head)] = static_cast<int>(i);
    }
    for (const Plan& plan : m_plans) {
      throwIfCancelled(m_progress);
      PackedTree& tree = forest.trees.emplace_back();
      tree.root = plan.root;
      tree.multiplicity = plan.copies;
      visitEdges(plan, [&](int parent, int child) { tree.arcs.push_back(arcOf[pair(parent, child)]); });
    }
    return forest;
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_capacities;
  const std::vector<int64_t>& m_supply;
  const Progress& m_progress;
  int m_count;
  std::vector<int64_t> m_room;  // by rank: what it can send beside its own stars
  std::vector<Plan> m_plans;    // by root, ascending
};

}  // namespace

std::optional<TwoLevelForest> growRelayedStars(const Network& network, const std::vector<TreeArc>& capacities,
                                               const std::vector<int64_t>& supply, const Progress& progress) {
  return RelayedStars(network, capacities, supply, progress).run();
}

}  // namespace coppice::forestcoll
