// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/trimming.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Both directions of one link, with equal capacity.
struct DuplexLink {
  int there = 0;  ///< arc index
  int back = 0;
  int64_t full = 0;
  int tier = 0;  ///< hops from the nearest GPU to the link's far end
};

/// Outer links of multi-homed GPUs, trimmed last.
constexpr int kHomeTier = 0;

std::vector<DuplexLink> duplexLinks(const Network& network, const std::vector<TreeArc>& capacities) {
  std::map<std::pair<int, int>, int> byEnds;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    byEnds[{capacities[i].tail, capacities[i].head}] = static_cast<int>(i);
  }
  const std::vector<int> distance = hopsFromGpus(network, capacities);
  // A GPU's widest link leads to its local fabric; the other ones of a multi-homed GPU lead outwards.
  std::vector<int64_t> widest(at(network.nodeCount), 0);
  for (const TreeArc& arc : capacities) {
    widest[at(arc.tail)] = std::max(widest[at(arc.tail)], arc.capacity);
  }
  std::vector<DuplexLink> links;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const TreeArc& arc = capacities[i];
    const auto back = byEnds.find({arc.head, arc.tail});
    const bool isDuplex = back != byEnds.end() && capacities[at(back->second)].capacity == arc.capacity;
    if (arc.tail > arc.head || !isDuplex || arc.capacity == 0) {
      continue;
    }
    const bool tailIsGpu = network.isGpu[at(arc.tail)] != 0;
    const bool headIsGpu = network.isGpu[at(arc.head)] != 0;
    if (!tailIsGpu && !headIsGpu) {
      links.push_back(
          {static_cast<int>(i), back->second, arc.capacity, std::max(distance[at(arc.tail)], distance[at(arc.head)])});
    } else if (tailIsGpu != headIsGpu && arc.capacity < widest[at(tailIsGpu ? arc.tail : arc.head)]) {
      links.push_back({static_cast<int>(i), back->second, arc.capacity, kHomeTier});
    }
  }
  return links;
}

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
    for (const DuplexLink& link : duplexLinks(m_network, m_capacities)) {
      tiers[link.tier].push_back(link);
    }
    for (auto& [tier, links] : tiers) {
      // Boxes of unequal size need unequal shares of their GPUs' outer links, so no common factor fits that tier.
      if (policy == Trimming::proportional && tier != kHomeTier) {
        shrinkTier(links);
      } else {
        restoreTier(links);
      }
    }
  }

private:
  void set(const DuplexLink& link, int64_t value) {
    m_capacities[at(link.there)].capacity = value;
    m_capacities[at(link.back)].capacity = value;
    m_oracle.setCapacity(link.there, value);
    m_oracle.setCapacity(link.back, value);
  }

  /// in(Q) + r(Q) in the present state, short of K by this much.
  struct Shortage {
    std::vector<char> inSet;
    int64_t missing = 0;
  };

  /// Looks at every sink once; `raise` mends each violated set by adding capacity, so that earlier sinks stay right.
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
        Shortage shortage{std::vector<char>(at(m_network.nodeCount), 0), m_oracle.target() - flow};
        for (const int node : m_oracle.reaching(seeds, isClosed)) {
          shortage.inSet[at(node)] = 1;
        }
        m_oracle.undo();
        raise(shortage);
      }
      m_oracle.undo();
      m_oracle.absorb(sink);
    }
    m_oracle.clearAbsorbed();
  }

  [[nodiscard]] bool enters(int arc, const std::vector<char>& inSet) const {
    const TreeArc& a = m_capacities[at(arc)];
    return inSet[at(a.tail)] == 0 && inSet[at(a.head)] != 0;
  }
  [[nodiscard]] bool crosses(const DuplexLink& link, const std::vector<char>& inSet) const {
    return enters(link.there, inSet) || enters(link.back, inSet);
  }

  /// The least factor for all links of the tier; then links into tight sets stay and the others shrink further.
  void shrinkTier(const std::vector<DuplexLink>& all) {
    constexpr int kRounds = 12;
    std::vector<DuplexLink> links = all;
    for (int round = 0; round < kRounds && !links.empty(); ++round) {
      for (const DuplexLink& link : links) {
        set(link, 0);
      }
      pass([&](const Shortage& shortage) {
        // theta = (what the set needs from these links) / (what they could give it).
        Int128 needed = shortage.missing;
        Int128 most = 0;
        for (const DuplexLink& link : links) {
          if (crosses(link, shortage.inSet)) {
            needed += m_capacities[at(link.there)].capacity;
            most += link.full;
          }
        }
        for (const DuplexLink& link : links) {
          // `most` is positive: the full tier was feasible, so some of its links enter every violated set.
          const Int128 value = (needed * link.full + most - 1) / std::max<Int128>(1, most);
          set(link, std::max(m_capacities[at(link.there)].capacity, std::min(link.full, narrow64(value))));
        }
      });
      const bool isEmpty = std::all_of(links.begin(), links.end(), [&](const DuplexLink& link) {
        return m_capacities[at(link.there)].capacity == 0;
      });
      if (isEmpty) {
        return;
      }
      const std::vector<std::vector<char>> tight = tightSets();
      const auto isHeld = [&](const DuplexLink& link) {
        return std::any_of(tight.begin(), tight.end(),
                           [&](const std::vector<char>& inSet) { return crosses(link, inSet); });
      };
      const auto firstHeld =
          std::stable_partition(links.begin(), links.end(), [&](const DuplexLink& link) { return !isHeld(link); });
      if (firstHeld == links.end()) {
        return;
      }
      links.erase(firstHeld, links.end());
    }
  }

  std::vector<std::vector<char>> tightSets() {
    std::vector<std::vector<char>> sets;
    m_oracle.clearAbsorbed();
    for (const int sink : m_oracle.sinkOrder()) {
      m_oracle.flowInto(sink, m_oracle.target());
      bool isClosed = false;
      const int seeds[] = {sink};
      const std::vector<int> nodes = m_oracle.reaching(seeds, isClosed);
      if (isClosed && nodes.size() > 1) {
        sets.emplace_back(at(m_network.nodeCount), 0);
        for (const int node : nodes) {
          sets.back()[at(node)] = 1;
        }
      }
      m_oracle.undo();
      m_oracle.absorb(sink);
    }
    m_oracle.clearAbsorbed();
    return sets;
  }

  /// From zero: only the links into a violated set grow, in proportion to what each still lacks.
  void restoreTier(const std::vector<DuplexLink>& links) {
    for (const DuplexLink& link : links) {
      set(link, 0);
    }
    pass([&](const Shortage& shortage) {
      Int128 lacking = 0;
      for (const DuplexLink& link : links) {
        if (crosses(link, shortage.inSet)) {
          lacking += link.full - m_capacities[at(link.there)].capacity;
        }
      }
      Int128 left = shortage.missing;
      for (const DuplexLink& link : links) {
        const int64_t present = m_capacities[at(link.there)].capacity;
        if (left > 0 && crosses(link, shortage.inSet) && link.full > present) {
          const Int128 share =
              (Int128{shortage.missing} * (link.full - present) + lacking - 1) / std::max<Int128>(1, lacking);
          const Int128 granted = std::min({share, left, Int128{link.full} - present});
          set(link, present + narrow64(granted));
          left -= granted;
        }
      }
    });
  }

  const Network& m_network;
  std::vector<TreeArc>& m_capacities;
  const Progress& m_progress;
  Oracle m_oracle;
};

}  // namespace

void trimCapacities(const Network& network, std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
                    Trimming policy, const Progress& progress) {
  if (policy != Trimming::none) {
    Trimmer(network, capacities, supply, progress).run(policy);
  }
}

}  // namespace coppice::forestcoll
