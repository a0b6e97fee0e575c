// SPDX-License-Identifier: Apache-2.0
#include "order/bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "flow/max_flow.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::order {
namespace {

using fabric::NodeIndex;
using std::int64_t;

/// What is sent between blocks of places in all steps together, in whole units.
class Sums {
public:
  Sums(const Pattern& pattern, int blockSize) : m_blocks(pattern.places / blockSize) {
    for (const Step& step : pattern.steps) {
      for (const Message& message : step.messages) {
        m_unit = leastCommonMultiple(m_unit, message.amount.denominator());
      }
    }
    for (const Step& step : pattern.steps) {
      for (const Message& message : step.messages) {
        const std::pair pair{message.from / blockSize, message.to / blockSize};
        if (pair.first != pair.second) {
          int64_t& sum = m_sums[pair];
          const int64_t amount = checkedMul(message.amount.numerator(), m_unit / message.amount.denominator());
          sum = checkedAdd(sum, checkedMul(step.count, amount));
        }
      }
    }
  }

  [[nodiscard]] int blocks() const { return m_blocks; }

  /// The least that leaves `count` of the blocks for the others; 0 where it is not known.
  Rational leastCut(int count, const Progress& progress) {
    const auto [found, isNew] = m_known.try_emplace(count, 0);
    if (isNew) {
      throwIfCancelled(progress);
      found->second = isFew(count) ? byTrying(count) : connectivity();
    }
    return Rational(found->second, m_unit);
  }

private:
  static constexpr int64_t kMaxTried = 20'000'000;  ///< choices times pairs
  static constexpr int64_t kMaxFlow = 1'000'000;    ///< blocks times pairs

  [[nodiscard]] bool isFew(int count) const {
    const int64_t max = kMaxTried / std::max<int64_t>(1, static_cast<int64_t>(m_sums.size()));
    int64_t choices = 1;
    for (int i = 1; i <= std::min(count, m_blocks - count) && choices <= max; ++i) {
      choices = choices * (m_blocks - i + 1) / i;
    }
    return choices <= max;
  }

  [[nodiscard]] int64_t byTrying(int count) const {
    std::vector<char> isInside(static_cast<std::size_t>(m_blocks), 0);
    std::fill(isInside.end() - count, isInside.end(), 1);
    std::optional<int64_t> least;
    do {
      int64_t sum = 0;
      for (const auto& [pair, amount] : m_sums) {
        sum = isInside[pair.first] != 0 && isInside[pair.second] == 0 ? checkedAdd(sum, amount) : sum;
      }
      least = std::min(least.value_or(sum), sum);
    } while (std::next_permutation(isInside.begin(), isInside.end()));
    return least.value_or(0);
  }

  /// The least cut of all sets: each has block 0 inside or outside.
  int64_t connectivity() {
    if (m_connectivity || static_cast<int64_t>(m_sums.size()) > kMaxFlow / m_blocks) {
      return m_connectivity.value_or(0);
    }
    int64_t least = std::numeric_limits<int64_t>::max();
    flow::MaxFlow flow(m_blocks);
    std::vector<std::pair<int, int64_t>> arcs;
    for (const auto& [pair, amount] : m_sums) {
      arcs.emplace_back(flow.addArc(pair.first, pair.second, amount), amount);
    }
    for (int block = 1; block < m_blocks; ++block) {
      for (const bool isOut : {true, false}) {
        for (const auto& [arc, amount] : arcs) {
          flow.setCapacity(arc, amount);
        }
        least = std::min(least, flow.run(isOut ? 0 : block, isOut ? block : 0, least));
      }
    }
    m_connectivity = least;
    return least;
  }

  int m_blocks;
  int64_t m_unit = 1;
  std::map<std::pair<int, int>, int64_t> m_sums;
  std::map<int, int64_t> m_known;
  std::optional<int64_t> m_connectivity;
};

struct Set {
  std::vector<NodeIndex> nodes;
  int gpus = 0;
  int hosts = 0;  ///< that are inside as a whole; -1 = some are divided
};

std::vector<Set> setsOf(const fabric::Fabric& fabric, const Hosts& hosts) {
  std::vector<int> hostOf(static_cast<std::size_t>(fabric.gpuCount()));
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (const fabric::Rank gpu : hosts[host].gpus) {
      hostOf[gpu] = static_cast<int>(host);
    }
  }
  std::set<std::vector<NodeIndex>> seen;
  std::vector<Set> sets;
  for (const symmetry::Parts& parts : symmetry::candidateParts(symmetry::graphOf(fabric), fabric)) {
    std::map<int, std::vector<NodeIndex>> byPart;
    for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
      if (parts[node] >= 0) {
        byPart[parts[node]].push_back(node);
      }
    }
    for (auto& [part, nodes] : byPart) {
      Set set;
      std::map<int, std::size_t> inside;
      for (const NodeIndex node : nodes) {
        if (fabric.nodes()[node].rank >= 0) {
          ++set.gpus;
          ++inside[hostOf[fabric.nodes()[node].rank]];
        }
      }
      for (const auto& [host, count] : inside) {
        set.hosts = set.hosts < 0 || count < hosts[host].gpus.size() ? -1 : set.hosts + 1;
      }
      if (set.gpus > 0 && set.gpus < fabric.gpuCount() && seen.insert(nodes).second) {
        set.nodes = std::move(nodes);
        sets.push_back(std::move(set));
      }
    }
  }
  return sets;
}

std::pair<Bandwidth, Bandwidth> capacities(const fabric::Fabric& fabric, const std::vector<NodeIndex>& nodes) {
  const std::set<NodeIndex> inside(nodes.begin(), nodes.end());
  std::pair<Bandwidth, Bandwidth> sums;
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (inside.contains(arc.tail) != inside.contains(arc.head)) {
      (inside.contains(arc.tail) ? sums.first : sums.second) += arc.bandwidth;
    }
  }
  return sums;
}

}  // namespace

std::optional<Bound> orderBound(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                bool keepsHosts, const Progress& progress) {
  const auto size = static_cast<int>(hosts.front().gpus.size());
  const bool areAlike = std::all_of(hosts.begin(), hosts.end(),
                                    [&](const Host& host) { return static_cast<int>(host.gpus.size()) == size; });
  Sums places(pattern, 1);
  std::optional<Sums> blocks;
  if (keepsHosts && areAlike) {
    blocks.emplace(pattern, size);
  }
  std::optional<Bound> best;
  for (const Set& set : setsOf(fabric, hosts)) {
    const bool isWhole = blocks && set.hosts > 0;
    Sums& sums = isWhole ? *blocks : places;
    const int inside = isWhole ? set.hosts : set.gpus;
    const auto [out, in] = capacities(fabric, set.nodes);
    for (const bool isInto : {false, true}) {
      const Rational amount = sums.leastCut(isInto ? sums.blocks() - inside : inside, progress);
      const Bandwidth& capacity = isInto ? in : out;
      if (amount.isPositive() && capacity.isPositive() && (!best || best->time < amount / capacity)) {
        best = Bound{amount / capacity, set.nodes, set.gpus, isInto, amount, capacity};
      }
    }
  }
  return best;
}

}  // namespace coppice::order
