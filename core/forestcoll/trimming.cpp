// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/trimming.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

/// Both directions of one link with equal capacity. Nics and other switches with two neighbours count as a piece of
/// wire, so a link may be a chain of arcs.
struct DuplexLink {
  std::vector<int> there;  ///< arc indices; of home links from the GPU outwards
  std::vector<int> back;
  int64_t full = 0;
  int tier = 0;
  int farEnd = -1;  ///< of home links: the switch that they lead to
};

/// Outer links of multi-homed GPUs, trimmed last. Links between switches come in the order of their far end's hops from
/// the nearest GPU, farthest first; among equals first those whose ends share no neighbour, since cliques of switches
/// (the groups of a dragonfly) are nearer to each other than what joins them.
constexpr int kHomeTier = 0;

int tierOf(int hops, bool sharesNeighbour) {
  return 2 * hops + (sharesNeighbour ? 0 : 1);
}

class LinkSearch {
public:
  LinkSearch(const Network& network, const std::vector<TreeArc>& capacities)
      : m_network(network),
        m_capacities(capacities),
        m_distance(hopsFromGpus(network, capacities)),
        m_neighbours(static_cast<std::size_t>(network.nodeCount)),
        m_widest(static_cast<std::size_t>(network.nodeCount), 0) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      const TreeArc& arc = capacities[i];
      if (arc.capacity > 0) {
        m_byEnds[{arc.tail, arc.head}] = static_cast<int>(i);
        m_neighbours[arc.tail].push_back(arc.head);
        m_neighbours[arc.head].push_back(arc.tail);
        // A GPU's widest link leads to its local fabric; the other ones of a multi-homed GPU lead outwards.
        m_widest[arc.tail] = std::max(m_widest[arc.tail], arc.capacity);
      }
    }
    for (std::vector<int>& neighbours : m_neighbours) {
      std::sort(neighbours.begin(), neighbours.end());
      neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    }
  }

  std::vector<DuplexLink> run() {
    std::vector<DuplexLink> links;
    std::vector<char> isTaken(m_capacities.size(), 0);
    for (const int gpu : m_network.gpus) {
      for (const int next : m_neighbours[gpu]) {
        DuplexLink link = homeLink(gpu, next);
        if (link.full > 0) {
          for (const std::vector<int>* arcs : {&link.there, &link.back}) {
            for (const int arc : *arcs) {
              isTaken[arc] = 1;
            }
          }
          links.push_back(std::move(link));
        }
      }
    }
    for (std::size_t i = 0; i < m_capacities.size(); ++i) {
      const TreeArc& arc = m_capacities[i];
      const int back = duplexPartner(static_cast<int>(i));
      if (arc.tail < arc.head && back >= 0 && isTaken[i] == 0 && isSwitch(arc.tail) && isSwitch(arc.head)) {
        const int hops = std::max(m_distance[arc.tail], m_distance[arc.head]);
        links.push_back(
            {{static_cast<int>(i)}, {back}, arc.capacity, tierOf(hops, shareNeighbour(arc.tail, arc.head)), -1});
      }
    }
    return links;
  }

private:
  [[nodiscard]] bool isSwitch(int node) const { return m_network.isGpu[node] == 0; }

  /// The arc back, if it has the same capacity; else -1.
  [[nodiscard]] int duplexPartner(int arc) const {
    const TreeArc& a = m_capacities[arc];
    const auto back = m_byEnds.find({a.head, a.tail});
    const bool isDuplex = back != m_byEnds.end() && m_capacities[back->second].capacity == a.capacity;
    return a.capacity > 0 && isDuplex ? back->second : -1;
  }

  /// The chain from a GPU over nics to a larger switch; full = 0 where there is none, or it is the GPU's widest link.
  [[nodiscard]] DuplexLink homeLink(int gpu, int next) const {
    DuplexLink link;
    int from = gpu;
    while (isSwitch(next)) {
      const auto arc = m_byEnds.find({from, next});
      const int back = arc == m_byEnds.end() ? -1 : duplexPartner(arc->second);
      if (back < 0 || (!link.there.empty() && m_capacities[back].capacity != link.full)) {
        return {};
      }
      link.full = m_capacities[back].capacity;
      if (link.full >= m_widest[gpu]) {
        return {};
      }
      link.there.push_back(arc->second);
      link.back.push_back(back);
      link.farEnd = next;
      const std::vector<int>& around = m_neighbours[next];
      if (around.size() != 2) {
        return link;
      }
      const int beyond = around[0] == from ? around[1] : around[0];
      from = next;
      next = beyond;
    }
    return {};
  }

  [[nodiscard]] bool shareNeighbour(int a, int b) const {
    const std::vector<int>& few = m_neighbours[a].size() < m_neighbours[b].size() ? m_neighbours[a] : m_neighbours[b];
    const std::vector<int>& many = &few == &m_neighbours[a] ? m_neighbours[b] : m_neighbours[a];
    return std::any_of(few.begin(), few.end(),
                       [&](int node) { return isSwitch(node) && std::binary_search(many.begin(), many.end(), node); });
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_capacities;
  std::vector<int> m_distance;
  std::vector<std::vector<int>> m_neighbours;
  std::vector<int64_t> m_widest;
  std::map<std::pair<int, int>, int> m_byEnds;
};

class Trimmer {
public:
  Trimmer(const Network& network, std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
          const Progress& progress)
      : m_network(network),
        m_capacities(capacities),
        m_progress(progress),
        m_oracle(network.nodeCount, capacities, supply, network.gpus) {}

  void run(Trimming policy) {
    std::map<int, std::vector<DuplexLink>, std::greater<>> tiers;
    for (DuplexLink& link : LinkSearch(m_network, m_capacities).run()) {
      tiers[link.tier].push_back(std::move(link));
    }
    for (auto& [tier, links] : tiers) {
      // Boxes of unequal size need unequal shares of their GPUs' outer links, so no common factor fits that tier.
      if (policy == Trimming::proportional && tier != kHomeTier) {
        shrinkTier(links);
      } else if (tier != kHomeTier || !trimInwards(links)) {
        restoreTier(links);
      }
    }
  }

private:
  void set(const std::vector<int>& arcs, int64_t value) {
    for (const int arc : arcs) {
      m_capacities[arc].capacity = value;
      m_oracle.setCapacity(arc, value);
    }
  }
  void set(const DuplexLink& link, int64_t value) {
    set(link.there, value);
    set(link.back, value);
  }
  [[nodiscard]] int64_t value(const std::vector<int>& arcs) const { return m_capacities[arcs.front()].capacity; }

  /// in(Q) + r(Q) in the present state, short of K by this much.
  struct Shortage {
    std::vector<char> inSet;
    int64_t missing = 0;
  };

  /// Looks at every sink once; `raise` satisfies each violated set by adding capacity, so that earlier sinks stay
  /// right.
  template <typename Raise>
  void pass(Raise&& raise) {
    m_oracle.clearAbsorbed();
    for (const int sink : m_oracle.sinkOrder()) {
      throwIfCancelled(m_progress);
      while (true) {
        const int64_t flow = m_oracle.flowInto(sink, m_oracle.target());
        if (flow == m_oracle.target()) {
          break;
        }
        bool isClosed = false;
        const int seeds[] = {sink};
        Shortage shortage{std::vector<char>(static_cast<std::size_t>(m_network.nodeCount), 0),
                          m_oracle.target() - flow};
        for (const int node : m_oracle.reaching(seeds, isClosed)) {
          shortage.inSet[node] = 1;
        }
        m_oracle.undo();
        raise(shortage);
      }
      m_oracle.undo();
      m_oracle.absorb(sink);
    }
    m_oracle.clearAbsorbed();
  }

  /// Whether the chain of arcs leads into the set; nics on the way may lie on either side.
  [[nodiscard]] bool enters(const std::vector<int>& arcs, const std::vector<char>& inSet) const {
    return std::any_of(arcs.begin(), arcs.end(), [&](int arc) {
      const TreeArc& a = m_capacities[arc];
      return inSet[a.tail] == 0 && inSet[a.head] != 0;
    });
  }
  [[nodiscard]] bool crosses(const DuplexLink& link, const std::vector<char>& inSet) const {
    return enters(link.there, inSet) || enters(link.back, inSet);
  }

  /// The smallest factor for all links of the tier; then links into tight sets stay and the others shrink further.
  void shrinkTier(const std::vector<DuplexLink>& all) {
    constexpr int kRounds = 12;
    std::vector<DuplexLink> links = all;
    for (int round = 0; round < kRounds && !links.empty(); ++round) {
      for (const DuplexLink& link : links) {
        set(link, 0);
      }
      bool isRounded = false;
      pass([&](const Shortage& shortage) {
        // theta = (what the set needs from these links) / (what they could give it).
        Int128 needed = shortage.missing;
        Int128 max = 0;
        for (const DuplexLink& link : links) {
          if (crosses(link, shortage.inSet)) {
            needed += value(link.there);
            max += link.full;
          }
        }
        if (max == 0) {  // the full tier was feasible, so some of its links enter every violated set
          throw Failure{{ErrorCode::internal, "trimming met a cut that the full capacities do not cover"}};
        }
        for (const DuplexLink& link : links) {
          const Int128 wanted = (needed * link.full + max - 1) / max;
          isRounded = isRounded || needed * link.full % max != 0;
          set(link, std::max(value(link.there), std::min(link.full, narrow64(wanted))));
        }
      });
      const bool isEmpty =
          std::all_of(links.begin(), links.end(), [&](const DuplexLink& link) { return value(link.there) == 0; });
      if (isEmpty) {
        break;
      }
      if (isRounded) {
        dropRoundedUp(links);
      }
      const std::vector<std::vector<char>> tight = tightSets(links);
      const auto isHeld = [&](const DuplexLink& link) {
        return std::any_of(tight.begin(), tight.end(),
                           [&](const std::vector<char>& inSet) { return crosses(link, inSet); });
      };
      const auto firstHeld =
          std::stable_partition(links.begin(), links.end(), [&](const DuplexLink& link) { return !isHeld(link); });
      if (firstHeld == links.end()) {
        break;
      }
      links.erase(firstHeld, links.end());
    }
  }

  /// Rounding up leaves sets a few units short of tight, and the next round holds only links into tight sets.
  /// Takes a unit off every link and gives back what is missed.
  void dropRoundedUp(const std::vector<DuplexLink>& all) {
    std::vector<DuplexLink> links = all;
    for (DuplexLink& link : links) {
      link.full = value(link.there);
      set(link, std::max<int64_t>(0, link.full - 1));
    }
    raiseBetweenShortSets(links);
    restore(links);
  }

  /// A unit on a link counts for the sets at both of its ends, so units are given to links whose ends both miss some:
  /// the set that misses most gets its units from the sets that miss most beside it (Havel and Hakimi, who build graphs
  /// of given degrees so). What one set gets alone would stay above what it needs.
  void raiseBetweenShortSets(const std::vector<DuplexLink>& links) {
    constexpr std::size_t kMaxSets = 1024;
    const auto violated = m_oracle.violations(kMaxSets, m_progress);
    std::vector<int> setOf(m_network.nodeCount, -1);
    std::vector<int64_t> missing;
    for (const auto& violation : violated) {
      for (const int node : violation.nodes) {
        setOf[node] = setOf[node] < 0 ? static_cast<int>(missing.size()) : setOf[node];
      }
      missing.push_back(violation.deficit);
    }
    struct Joint {
      std::size_t link;
      int other;  ///< set at the other end, or -1
    };
    std::vector<std::vector<Joint>> joints(missing.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      const TreeArc& arc = m_capacities[links[i].there.front()];
      const int from = setOf[arc.tail];
      const int to = setOf[arc.head];
      if (from != to && value(links[i].there) < links[i].full) {
        if (from >= 0) {
          joints[from].push_back({i, to});
        }
        if (to >= 0) {
          joints[to].push_back({i, from});
        }
      }
    }
    std::vector<int> order(missing.size());
    std::iota(order.begin(), order.end(), 0);
    while (!order.empty()) {
      throwIfCancelled(m_progress);
      const auto max = std::max_element(order.begin(), order.end(), [&](int a, int b) {
        return std::pair(missing[a], -a) < std::pair(missing[b], -b);
      });
      const int shortest = *max;
      order.erase(max);
      std::vector<Joint>& around = joints[shortest];
      const auto missingAt = [&](const Joint& joint) { return joint.other < 0 ? 0 : missing[joint.other]; };
      std::stable_sort(around.begin(), around.end(),
                       [&](const Joint& a, const Joint& b) { return missingAt(a) > missingAt(b); });
      for (const Joint& joint : around) {
        const DuplexLink& link = links[joint.link];
        if (missing[shortest] <= 0) {
          break;
        }
        if (value(link.there) < link.full) {
          set(link, value(link.there) + 1);
          --missing[shortest];
          if (joint.other >= 0) {
            --missing[joint.other];
          }
        }
      }
    }
  }

  /// Tight sets around each GPU: the smallest one, and the smallest one that holds the nearest ends of the links as
  /// well. The second is the one that counts where single GPUs are tight already.
  std::vector<std::vector<char>> tightSets(const std::vector<DuplexLink>& links) {
    const std::vector<char> isNearEnd = nearEnds(links);
    std::vector<std::vector<int>> next(m_network.nodeCount);
    for (const TreeArc& arc : m_capacities) {
      if (m_network.isGpu[arc.head] == 0) {
        next[arc.tail].push_back(arc.head);
      }
    }
    std::vector<std::vector<char>> sets;
    m_seen.assign(next.size(), -1);
    m_oracle.clearAbsorbed();
    for (const int sink : m_oracle.sinkOrder()) {
      throwIfCancelled(m_progress);
      m_oracle.flowInto(sink, m_oracle.target());
      std::vector<int> seeds{sink};
      for (const bool hasEnds : {false, true}) {
        if (hasEnds) {
          addNearest(next, isNearEnd, seeds);
        }
        bool isClosed = false;
        const std::vector<int> nodes = m_oracle.reaching(seeds, isClosed);
        if (isClosed && nodes.size() > 1) {
          sets.emplace_back(static_cast<std::size_t>(m_network.nodeCount), 0);
          for (const int node : nodes) {
            sets.back()[node] = 1;
          }
          break;
        }
      }
      m_oracle.undo();
      m_oracle.absorb(sink);
    }
    m_oracle.clearAbsorbed();
    return sets;
  }

  /// By node: whether it is an end of one of the links that is no farther from the GPUs than the other.
  [[nodiscard]] std::vector<char> nearEnds(const std::vector<DuplexLink>& links) const {
    const std::vector<int> hops = hopsFromGpus(m_network, m_network.arcs);
    std::vector<char> isNearEnd(m_network.nodeCount, 0);
    for (const DuplexLink& link : links) {
      const TreeArc& arc = m_capacities[link.there.front()];
      for (const int end : {arc.tail, arc.head}) {
        isNearEnd[end] = isNearEnd[end] != 0 || hops[end] == std::min(hops[arc.tail], hops[arc.head]) ? 1 : 0;
      }
    }
    return isNearEnd;
  }

  /// Adds the marked switches that are the fewest hops away from the first seed, through switches.
  void addNearest(const std::vector<std::vector<int>>& next, const std::vector<char>& isMarked,
                  std::vector<int>& seeds) {
    const int from = seeds.front();
    m_seen[from] = from;
    std::vector<int> level{from};
    while (!level.empty() && seeds.size() == 1) {
      std::vector<int> following;
      for (const int node : level) {
        for (const int other : next[node]) {
          if (m_seen[other] != from) {
            m_seen[other] = from;
            following.push_back(other);
            if (isMarked[other] != 0) {
              seeds.push_back(other);
            }
          }
        }
      }
      level = std::move(following);
    }
  }

  /// From zero: only the links into a violated set grow, in proportion to what each still lacks.
  void restoreTier(const std::vector<DuplexLink>& links) {
    for (const DuplexLink& link : links) {
      set(link, 0);
    }
    restore(links);
  }

  void restore(const std::vector<DuplexLink>& links) {
    pass([&](const Shortage& shortage) {
      Int128 lacking = 0;
      for (const DuplexLink& link : links) {
        if (crosses(link, shortage.inSet)) {
          lacking += link.full - value(link.there);
        }
      }
      grant(
          shortage, lacking, links, [&](const DuplexLink& link) { return crosses(link, shortage.inSet); },
          [&](const DuplexLink& link, int64_t amount) { set(link, amount); });
    });
  }

  /// Gives a set what it misses, in proportion to what each of its links still lacks.
  template <typename Serves, typename Set>
  void grant(const Shortage& shortage, Int128 lacking, const std::vector<DuplexLink>& links, Serves&& serves,
             Set&& setTo) {
    Int128 left = shortage.missing;
    if (lacking == 0) {
      throw Failure{{ErrorCode::internal, "trimming met a cut that the full capacities do not cover"}};
    }
    for (const DuplexLink& link : links) {
      const int64_t present = value(link.back);
      if (left > 0 && link.full > present && serves(link)) {
        const Int128 share =
            (Int128{shortage.missing} * (link.full - present) + lacking - 1) / std::max<Int128>(1, lacking);
        const Int128 granted = std::min({share, left, Int128{link.full} - present});
        setTo(link, present + narrow64(granted));
        left -= granted;
      }
    }
  }

  /// Only the way in of every home link is trimmed, from zero to what is needed; the switches are balanced again by
  /// taking the ways out back in proportion. Balance is needed at switches alone, so a box may send more than it gets:
  /// then boxes with many GPUs, whose trees leave most often, need no other box to relay for them. False, with nothing
  /// changed, where a switch cannot be balanced this way or too little is left.
  bool trimInwards(const std::vector<DuplexLink>& links) {
    for (const DuplexLink& link : links) {
      set(link.back, 0);
    }
    pass([&](const Shortage& shortage) {
      Int128 lacking = 0;
      for (const DuplexLink& link : links) {
        if (enters(link.back, shortage.inSet)) {
          lacking += link.full - value(link.back);
        }
      }
      grant(
          shortage, lacking, links, [&](const DuplexLink& link) { return enters(link.back, shortage.inSet); },
          [&](const DuplexLink& link, int64_t amount) { set(link.back, amount); });
    });
    tightenBoxes(links);
    for (const bool isShaped : {true, false}) {
      const std::vector<double> weights = isShaped ? starWeights(links) : fullWeights(links);
      if (!weights.empty() && balanceWaysOut(links, weights) && m_oracle.isFeasible(m_progress)) {
        return true;
      }
    }
    restoreFull(links);
    return false;
  }

  static std::vector<double> fullWeights(const std::vector<DuplexLink>& links) {
    std::vector<double> weights;
    for (const DuplexLink& link : links) {
      weights.push_back(static_cast<double>(link.full));
    }
    return weights;
  }

  /// The components that hold GPUs when the home links are taken away, by GPU and in the order of ranks.
  [[nodiscard]] std::map<int, int> boxes(const std::vector<DuplexLink>& links) const {
    std::vector<int> parent(m_network.nodeCount);
    std::iota(parent.begin(), parent.end(), 0);
    const auto find = [&](int node) {
      while (parent[node] != node) {
        node = parent[node] = parent[parent[node]];
      }
      return node;
    };
    std::vector<char> isHome(m_capacities.size(), 0);
    for (const DuplexLink& link : links) {
      for (const std::vector<int>* arcs : {&link.there, &link.back}) {
        for (const int arc : *arcs) {
          isHome[arc] = 1;
        }
      }
    }
    for (std::size_t i = 0; i < m_capacities.size(); ++i) {
      if (isHome[i] == 0 && m_capacities[i].capacity > 0) {
        parent[find(m_capacities[i].tail)] = find(m_capacities[i].head);
      }
    }
    std::map<int, int> numberOf;
    std::map<int, int> boxOf;
    for (const int gpu : m_network.gpus) {
      boxOf[gpu] = numberOf.try_emplace(find(gpu), static_cast<int>(numberOf.size())).first->second;
    }
    return boxOf;
  }
  [[nodiscard]] int gpuOf(const DuplexLink& link) const { return m_capacities[link.there.front()].tail; }

  /// Links that grew for one set may hold more than is needed once the others have grown. Where a box still gets more
  /// than one copy of everything, each of its links is lowered to what its GPU cannot do without: only sets around the
  /// link's GPU feel it, so one flow tells.
  void tightenBoxes(const std::vector<DuplexLink>& links) {
    const std::map<int, int> boxOf = boxes(links);
    std::vector<int64_t> surplus;
    for (const auto& [gpu, box] : boxOf) {
      surplus.resize(std::max(surplus.size(), static_cast<std::size_t>(box) + 1), -m_oracle.target());
      surplus[box] += m_oracle.supply(gpu);
    }
    for (const DuplexLink& link : links) {
      surplus[boxOf.at(gpuOf(link))] += value(link.back);
    }
    for (const DuplexLink& link : links) {
      int64_t& ofBox = surplus[boxOf.at(gpuOf(link))];
      const int64_t present = value(link.back);
      if (ofBox <= 0 || present == 0) {
        continue;
      }
      throwIfCancelled(m_progress);
      const int64_t lowered = std::max<int64_t>(0, present - ofBox);
      set(link.back, lowered);
      const int64_t missing = m_oracle.target() - m_oracle.flowInto(gpuOf(link), m_oracle.target());
      m_oracle.undo();
      set(link.back, lowered + missing);
      ofBox -= present - lowered - missing;
    }
  }

  /// Capacities out of the boxes with which every box can send its own trees straight to every other one: r(box) for
  /// each. What each switch hands out in all is given, so proportional fitting finds the shares per box and switch.
  /// Empty where there is one box only.
  [[nodiscard]] std::vector<double> starWeights(const std::vector<DuplexLink>& links) const {
    const std::map<int, int> boxOf = boxes(links);
    std::vector<double> needed;
    for (const auto& [gpu, box] : boxOf) {
      needed.resize(std::max(needed.size(), static_cast<std::size_t>(box) + 1), 0);
      needed[box] += static_cast<double>(m_oracle.supply(gpu));
    }
    if (needed.size() < 2) {
      return {};
    }
    for (double& trees : needed) {
      trees *= static_cast<double>(needed.size() - 1);
    }
    struct Share {
      int box;
      int node;
      double full = 0;
      double value = 0;
    };
    std::map<std::pair<int, int>, int> shareOf;  // (box, switch)
    std::vector<Share> shares;
    std::vector<int> shareOfLink;
    std::map<int, double> handedOut;  // by switch
    for (const DuplexLink& link : links) {
      const int box = boxOf.at(gpuOf(link));
      const auto [entry, isNew] = shareOf.try_emplace({box, link.farEnd}, static_cast<int>(shares.size()));
      if (isNew) {
        shares.push_back({box, link.farEnd});
      }
      shares[entry->second].full += static_cast<double>(link.full);
      shareOfLink.push_back(entry->second);
      handedOut[link.farEnd] += static_cast<double>(value(link.back));
    }
    for (Share& share : shares) {
      share.value = share.full;
    }
    constexpr int kRounds = 40;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> rows(needed.size(), 0);
      for (const Share& share : shares) {
        rows[share.box] += share.value;
      }
      std::map<int, double> columns;
      for (Share& share : shares) {
        const double row = rows[share.box];
        share.value = row > 0 ? std::min(share.full, share.value * needed[share.box] / row) : 0;
        columns[share.node] += share.value;
      }
      for (Share& share : shares) {
        const double column = columns[share.node];
        share.value = column > 0 ? std::min(share.full, share.value * handedOut[share.node] / column) : 0;
      }
    }
    std::vector<double> weights;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const Share& share = shares[shareOfLink[i]];
      weights.push_back(share.value * static_cast<double>(links[i].full) / share.full);
    }
    return weights;
  }

  /// Ways out near the weights that add up to the ways in at every switch. False where they cannot.
  bool balanceWaysOut(const std::vector<DuplexLink>& links, const std::vector<double>& weights) {
    std::map<int, std::vector<std::size_t>> bySwitch;
    for (std::size_t i = 0; i < links.size(); ++i) {
      bySwitch[links[i].farEnd].push_back(i);
    }
    for (const auto& [node, atSwitch] : bySwitch) {
      double total = 0;
      int64_t out = 0;
      for (const std::size_t i : atSwitch) {
        total += weights[i];
        out += value(links[i].back);
      }
      double before = 0;
      int64_t given = 0;
      std::vector<int64_t> share;
      for (const std::size_t i : atSwitch) {
        before += weights[i];
        const double upTo = total > 0 ? std::floor(static_cast<double>(out) * before / total + 0.5) : 0;
        const double wanted = std::clamp(upTo - static_cast<double>(given), 0.0, static_cast<double>(links[i].full));
        share.push_back(std::min(static_cast<int64_t>(wanted), out - given));
        given += share.back();
      }
      for (std::size_t j = 0; j < atSwitch.size(); ++j) {
        const int64_t more = std::min(out - given, links[atSwitch[j]].full - share[j]);
        given += more;
        set(links[atSwitch[j]].there, share[j] + more);
      }
      if (given != out) {
        return false;
      }
    }
    return true;
  }

  void restoreFull(const std::vector<DuplexLink>& links) {
    for (const DuplexLink& link : links) {
      set(link, link.full);
    }
  }

  const Network& m_network;
  std::vector<TreeArc>& m_capacities;
  const Progress& m_progress;
  Oracle m_oracle;
  std::vector<int> m_seen;  // by node: the GPU from which it was seen last
};

}  // namespace

void trimCapacities(const Network& network, std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
                    Trimming policy, const Progress& progress) {
  if (policy != Trimming::none) {
    Trimmer(network, capacities, supply, progress).run(policy);
  }
}

}  // namespace coppice::forestcoll
