// SPDX-License-Identifier: Apache-2.0
#include "order/bound.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "flow/max_flow.hpp"
#include "order/grid.hpp"
#include "simulate/routes.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/orbits.hpp"

namespace coppice::order {
namespace {

using fabric::NodeIndex;
using std::int64_t;

constexpr int64_t kSymmetryWork = 1'000'000;
constexpr int64_t kMaxRoutes = 1 << 17U;  ///< pairs of GPUs whose routes are looked at

/// What one byte between two GPUs takes, whichever they are.
struct Routes {
  struct Kind {
    InverseBandwidth peak;  ///< on the fullest link of its routes
    Rational links;         ///< that it passes
  };
  std::vector<Kind> kinds;      ///< peaks ascend, links descend: no pair has less of both
  std::vector<Rational> links;  ///< to the others from any GPU, the nearest first, at least
};

/// From one GPU of each orbit. Nothing where there are too many, or where their shares leave the exact range.
std::optional<Routes> routesOf(const fabric::Fabric& fabric, const Progress& progress) try {
  const auto graph = symmetry::graphOf(fabric);
  const std::vector<int> orbits =
      symmetry::orbitsOf(graph, symmetry::candidateParts(graph, fabric), kSymmetryWork, progress).ofNode;
  std::set<int> firsts;
  for (const NodeIndex gpu : fabric.gpus()) {
    firsts.insert(orbits[gpu]);
  }
  if (static_cast<int64_t>(firsts.size()) * fabric.gpuCount() > kMaxRoutes) {
    return std::nullopt;
  }
  simulate::ShortestRoutes shortest(fabric);
  std::vector<Routes::Kind> kinds;
  std::vector<Rational> nearest;
  for (const int first : firsts) {
    throwIfCancelled(progress);
    std::vector<Rational> links;
    const fabric::Rank from = fabric.nodes()[first].rank;
    for (fabric::Rank to = 0; to < fabric.gpuCount(); ++to) {
      if (to == from) {
        continue;
      }
      Routes::Kind kind;
      for (const auto& [arc, share] : shortest.shares(from, to)) {
        kind.peak = std::max(kind.peak, share / fabric.arcs()[arc].bandwidth);
      }
      kind.links = Rational(std::ssize(shortest.find(from, to, 0)) - 1);  // equally many on all of them
      kinds.push_back(kind);
      links.push_back(kind.links);
    }
    std::sort(links.begin(), links.end());
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (nearest.size() <= i) {
        nearest.push_back(links[i]);
      }
      nearest[i] = std::min(nearest[i], links[i]);
    }
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return std::pair(a.peak, a.links) < std::pair(b.peak, b.links); });
  Routes routes{{}, std::move(nearest)};
  for (const Routes::Kind& kind : kinds) {
    if (routes.kinds.empty() || kind.links < routes.kinds.back().links) {
      routes.kinds.push_back(kind);
    }
  }
  return routes;
} catch (const OverflowError&) {
  return std::nullopt;
}

Bandwidth bandwidthOf(const fabric::Fabric& fabric) {
  Bandwidth sum;
  for (const fabric::Arc& arc : fabric.arcs()) {
    sum += arc.bandwidth;
  }
  return sum;
}

/// The least time in which all messages of a step pass, each by a kind whose peak it allows: then it takes at least as
/// many links as the last such kind, and the links of the fabric carry them all together.
std::optional<InverseBandwidth> leastTime(const Routes& routes, const std::map<Rational, Rational>& sums,
                                          const Bandwidth& all) {
  constexpr std::size_t kMaxTimes = 4096;
  std::optional<InverseBandwidth> least;
  if (sums.size() * sums.size() * routes.kinds.size() > kMaxTimes) {
    return least;
  }
  const auto linksIn = [&](const InverseBandwidth& time) -> std::optional<Rational> {
    Rational links;
    for (const auto& [amount, sum] : sums) {
      const auto next = std::upper_bound(routes.kinds.begin(), routes.kinds.end(), time / amount,
                                         [](const auto& most, const auto& kind) { return most < kind.peak; });
      if (next == routes.kinds.begin()) {
        return std::nullopt;
      }
      links += sum * std::prev(next)->links;
    }
    return links;
  };
  for (const auto& [amount, sum] : sums) {
    for (const Routes::Kind& kind : routes.kinds) {
      const InverseBandwidth time = kind.peak * amount;
      if (const auto links = linksIn(time)) {
        const InverseBandwidth each = std::max(time, *links / all);
        least = least ? std::min(*least, each) : each;
      }
    }
  }
  return least;
}

/// All steps together: each GPU's messages pass as few links as if the largest went to the nearest ones.
Rational leastLinks(const Routes& routes, const Pattern& pattern) {
  std::map<std::pair<int, int>, Rational> amounts;
  for (const Step& step : pattern.steps) {
    for (const Message& message : step.messages) {
      amounts[{message.from, message.to}] += message.amount * Rational(step.count);
    }
  }
  std::map<int, std::vector<Rational>> ofPlace;
  for (const auto& [pair, amount] : amounts) {
    ofPlace[pair.first].push_back(amount);
  }
  Rational links;
  for (auto& [place, each] : ofPlace) {
    std::sort(each.begin(), each.end(), std::greater<>());
    for (std::size_t i = 0; i < each.size(); ++i) {
      links += each[i] * routes.links[i];
    }
  }
  return links;
}

/// By step: a time that its fullest link has under every order. Some GPU sends or receives this much.
std::vector<InverseBandwidth> leastPeaks(const fabric::Fabric& fabric, const Pattern& pattern,
                                         const std::optional<Routes>& routes) {
  Bandwidth out;
  Bandwidth in;
  for (const NodeIndex gpu : fabric.gpus()) {
    out = std::max(out, fabric.egress(gpu));
    in = std::max(in, fabric.ingress(gpu));
  }
  const Bandwidth all = bandwidthOf(fabric);
  std::vector<InverseBandwidth> peaks;
  for (const Step& step : pattern.steps) {
    std::map<int, Rational> sent;
    std::map<int, Rational> received;
    std::map<Rational, Rational> sums;  // by amount of a message
    for (const Message& message : step.messages) {
      sent[message.from] += message.amount;
      received[message.to] += message.amount;
      sums[message.amount] += message.amount;
    }
    InverseBandwidth peak;
    for (const auto& [place, amount] : sent) {
      peak = std::max(peak, amount / out);
    }
    for (const auto& [place, amount] : received) {
      peak = std::max(peak, amount / in);
    }
    if (routes) {
      const std::optional<InverseBandwidth> least = leastTime(*routes, sums, all);
      peak = std::max(peak, least.value_or(peak));
    }
    peaks.push_back(peak);
  }
  return peaks;
}

/// What leaves blocks of places for the others, in whole units.
class Crossings {
public:
  Crossings(const Pattern& pattern, int blockSize, std::span<const InverseBandwidth> peaks)
      : m_blocks(pattern.places / blockSize), m_peaks(peaks) {
    for (const Step& step : pattern.steps) {
      for (const Message& message : step.messages) {
        m_unit = leastCommonMultiple(m_unit, message.amount.denominator());
      }
    }
    for (std::size_t i = 0; i < pattern.steps.size(); ++i) {
      m_counts.push_back(pattern.steps[i].count);
      std::map<std::pair<int, int>, int64_t> sums;
      for (const Message& message : pattern.steps[i].messages) {
        const std::pair pair{message.from / blockSize, message.to / blockSize};
        if (pair.first != pair.second) {
          sums[pair] =
              checkedAdd(sums[pair], checkedMul(message.amount.numerator(), m_unit / message.amount.denominator()));
        }
      }
      for (const auto& [pair, amount] : sums) {
        m_sent.push_back({i, pair.first, pair.second, amount});
      }
    }
    findCube();
    findUniform();
  }

  [[nodiscard]] int blocks() const { return m_blocks; }

  /// The least time of the steps where `count` of the blocks send to the others over the capacity.
  InverseBandwidth leastTime(int count, const Bandwidth& capacity, const Progress& progress) {
    const auto [found, isNew] = m_known.try_emplace({count, capacity});
    if (isNew) {
      throwIfCancelled(progress);
      found->second = isFew(count)     ? byTrying(count, capacity)
                      : m_isCube       ? inCube(count, capacity)
                      : m_betweenPairs ? evenly(count, capacity)
                                       : Rational(connectivity(), m_unit) / capacity;
    }
    return found->second;
  }

private:
  struct Sent {
    std::size_t step = 0;
    int from = 0;
    int to = 0;
    int64_t amount = 0;
  };

  struct Exchange {
    int bit = 0;
    int64_t amount = 0;

    friend bool operator==(const Exchange&, const Exchange&) = default;
  };

  static constexpr int64_t kMaxTried = 20'000'000;  ///< choices times pairs
  static constexpr int64_t kMaxFlow = 1'000'000;    ///< blocks times pairs

  [[nodiscard]] bool isFew(int count) const {
    const int64_t max = kMaxTried / std::max<int64_t>(1, static_cast<int64_t>(m_sent.size()));
    int64_t choices = 1;
    for (int i = 1; i <= std::min(count, m_blocks - count) && choices <= max; ++i) {
      choices = choices * (m_blocks - i + 1) / i;
    }
    return choices <= max;
  }

  [[nodiscard]] InverseBandwidth byTrying(int count, const Bandwidth& capacity) const {
    std::vector<char> isInside(static_cast<std::size_t>(m_blocks), 0);
    std::fill(isInside.end() - count, isInside.end(), 1);
    // What the capacity carries in the time of a peak, in the units of the amounts.
    std::vector<Rational> peaks;
    for (const InverseBandwidth& peak : m_peaks) {
      peaks.push_back(peak * capacity * Rational(m_unit));
    }
    std::optional<Rational> least;
    std::vector<int64_t> crossing(m_counts.size());
    do {
      std::fill(crossing.begin(), crossing.end(), 0);
      for (const Sent& sent : m_sent) {
        crossing[sent.step] += isInside[sent.from] != 0 && isInside[sent.to] == 0 ? sent.amount : 0;
      }
      Rational sum;
      for (std::size_t step = 0; step < crossing.size(); ++step) {
        sum += std::max(peaks[step], Rational(crossing[step])) * Rational(m_counts[step]);
      }
      least = least ? std::min(*least, sum) : sum;
    } while (std::next_permutation(isInside.begin(), isInside.end()));
    return *least / Rational(m_unit) / capacity;
  }

  /// In each step all blocks send the same to the block whose number differs in one bit, or nothing.
  void findCube() {
    m_bits.assign(m_counts.size(), {});
    std::vector<int> senders(m_counts.size(), 0);
    m_isCube = true;
    for (const Sent& sent : m_sent) {
      const Exchange here{sent.from ^ sent.to, sent.amount};
      Exchange& exchange = m_bits[sent.step];
      exchange = senders[sent.step]++ == 0 ? here : exchange;
      m_isCube = m_isCube && exchange == here && std::has_single_bit(static_cast<unsigned>(here.bit));
    }
    m_isCube = m_isCube &&
               std::all_of(senders.begin(), senders.end(), [&](int count) { return count == 0 || count == m_blocks; });
  }

  /// Over all steps together, each block sends the same to each other one.
  void findUniform() {
    std::map<std::pair<int, int>, int64_t> sums;
    for (const Sent& sent : m_sent) {
      sums[{sent.from, sent.to}] = checkedAdd(sums[{sent.from, sent.to}], checkedMul(sent.amount, m_counts[sent.step]));
    }
    const bool isUniform =
        std::ssize(sums) == int64_t{m_blocks} * (m_blocks - 1) && !sums.empty() &&
        std::all_of(sums.begin(), sums.end(), [&](const auto& each) { return each.second == sums.begin()->second; });
    if (isUniform) {
      m_betweenPairs = sums.begin()->second;
    }
  }

  [[nodiscard]] InverseBandwidth evenly(int count, const Bandwidth& capacity) const {
    return Rational(checkedMul(*m_betweenPairs, int64_t{count} * (m_blocks - count)), m_unit) / capacity;
  }

  /// `count` corners of a cube have at most count log2(count) / 2 edges between them (Harper, 1964): over all bits
  /// together, no more than log2(count) of them keep their exchange inside. It is spent on the bits where that saves
  /// most, down to the peaks that the steps have anyway. Rounded up, where it is no whole number.
  [[nodiscard]] InverseBandwidth inCube(int count, const Bandwidth& capacity) const {
    struct Saving {
      Rational perShare;  ///< of a bit that is kept inside
      Rational share;     ///< that still saves
    };
    std::map<int, std::vector<Saving>> ofBit;
    Rational time;
    for (std::size_t step = 0; step < m_bits.size(); ++step) {
      const Rational peak = m_peaks[step].perGBps();
      const Rational all =
          Rational(checkedMul(m_bits[step].amount, int64_t{count}), m_unit) / capacity.gigabytesPerSecond();
      time += std::max(peak, all) * Rational(m_counts[step]);
      if (all > peak) {
        ofBit[m_bits[step].bit].push_back({all * Rational(m_counts[step]), Rational(1) - peak / all});
      }
    }
    // Steps of one bit keep the same share inside; a bound for each of them apart is one for all.
    std::vector<Saving> savings;
    for (const auto& [bit, steps] : ofBit) {
      Saving saving;
      for (const Saving& each : steps) {
        saving.perShare += each.perShare;
        saving.share = std::max(saving.share, each.share);
      }
      savings.push_back(saving);
    }
    std::sort(savings.begin(), savings.end(), [](const Saving& a, const Saving& b) { return a.perShare > b.perShare; });
    Rational left(std::bit_width(static_cast<unsigned>(count - 1)));
    for (const Saving& saving : savings) {
      const Rational share = std::min(left, saving.share);
      time -= saving.perShare * share;
      left -= share;
    }
    return InverseBandwidth(time);
  }

  /// The least cut of all sets, of all steps together: each has block 0 inside or outside.
  int64_t connectivity() {
    if (m_connectivity || static_cast<int64_t>(m_sent.size()) > kMaxFlow / m_blocks) {
      return m_connectivity.value_or(0);
    }
    int64_t least = std::numeric_limits<int64_t>::max();
    flow::MaxFlow flow(m_blocks);
    std::vector<std::pair<int, int64_t>> arcs;
    for (const Sent& sent : m_sent) {
      const int64_t amount = checkedMul(sent.amount, m_counts[sent.step]);
      arcs.emplace_back(flow.addArc(sent.from, sent.to, amount), amount);
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
  std::span<const InverseBandwidth> m_peaks;  ///< by step
  int64_t m_unit = 1;
  std::vector<int64_t> m_counts;  ///< by step
  std::vector<Sent> m_sent;
  std::vector<Exchange> m_bits;  ///< by step, of a cube
  bool m_isCube = false;
  std::optional<int64_t> m_betweenPairs;  ///< of all steps together, where it is the same for all
  std::map<std::pair<int, Bandwidth>, InverseBandwidth> m_known;
  std::optional<int64_t> m_connectivity;
};

struct Set {
  std::vector<NodeIndex> nodes;
  int gpus = 0;
  int hosts = 0;  ///< that are inside as a whole; -1 = some are divided
};

class Sets {
public:
  Sets(const fabric::Fabric& fabric, const Hosts& hosts) : m_fabric(fabric), m_hosts(hosts) {
    m_hostOf.resize(static_cast<std::size_t>(fabric.gpuCount()));
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      for (const fabric::Rank gpu : hosts[host].gpus) {
        m_hostOf[gpu] = static_cast<int>(host);
      }
    }
  }

  void addParts() {
    for (const symmetry::Parts& parts : symmetry::candidateParts(symmetry::graphOf(m_fabric), m_fabric)) {
      std::map<int, std::vector<NodeIndex>> byPart;
      for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
        if (parts[node] >= 0) {
          byPart[parts[node]].push_back(node);
        }
      }
      for (auto& [part, nodes] : byPart) {
        add(std::move(nodes));
      }
    }
  }

  /// Bricks of the grid of the GPUs that are joined directly, from its first corner on. Alike sides stand for one
  /// another.
  void addBricks(const Progress& progress) {
    constexpr std::size_t kMaxBricks = 4096;
    std::vector<int> rankOf;
    for (const fabric::Node& node : m_fabric.nodes()) {
      rankOf.push_back(node.rank);
    }
    const auto grid = gridOf(m_fabric, rankOf, m_fabric.gpuCount(), progress);
    if (!grid) {
      return;
    }
    std::vector<std::vector<int>> bricks{{}};
    for (std::size_t side = 0; side < grid->sides.size(); ++side) {
      std::vector<std::vector<int>> longer;
      for (const std::vector<int>& brick : bricks) {
        const bool isAlike = side > 0 && grid->sides[side] == grid->sides[side - 1];
        for (int length = 1; length <= (isAlike ? brick.back() : grid->sides[side].length); ++length) {
          longer.push_back(brick);
          longer.back().push_back(length);
        }
      }
      bricks = std::move(longer);
      if (bricks.size() > kMaxBricks) {
        return;
      }
    }
    for (const std::vector<int>& brick : bricks) {
      throwIfCancelled(progress);
      std::vector<NodeIndex> nodes;
      for (fabric::Rank gpu = 0; gpu < m_fabric.gpuCount(); ++gpu) {
        if (std::equal(brick.begin(), brick.end(), grid->at[gpu].begin(), std::greater<>())) {
          nodes.push_back(m_fabric.gpus()[gpu]);
        }
      }
      add(std::move(nodes));
    }
  }

  [[nodiscard]] const std::vector<Set>& all() const { return m_sets; }

private:
  void add(std::vector<NodeIndex> nodes) {
    Set set;
    std::map<int, std::size_t> inside;
    for (const NodeIndex node : nodes) {
      if (m_fabric.nodes()[node].rank >= 0) {
        ++set.gpus;
        ++inside[m_hostOf[m_fabric.nodes()[node].rank]];
      }
    }
    for (const auto& [host, count] : inside) {
      set.hosts = set.hosts < 0 || count < m_hosts[host].gpus.size() ? -1 : set.hosts + 1;
    }
    std::sort(nodes.begin(), nodes.end());
    if (set.gpus > 0 && set.gpus < m_fabric.gpuCount() && m_seen.insert(nodes).second) {
      set.nodes = std::move(nodes);
      m_sets.push_back(std::move(set));
    }
  }

  const fabric::Fabric& m_fabric;
  const Hosts& m_hosts;
  std::vector<int> m_hostOf;
  std::set<std::vector<NodeIndex>> m_seen;
  std::vector<Set> m_sets;
};

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

std::string_view toString(Bound::Reason reason) {
  switch (reason) {
    case Bound::Reason::links:
      return "links";
    case Bound::Reason::routes:
      return "routes";
    case Bound::Reason::set:
      return "set";
  }
  return {};
}

std::optional<Bound> orderBound(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                bool keepsHosts, const Progress& progress) {
  const auto size = static_cast<int>(hosts.front().gpus.size());
  const bool areAlike = std::all_of(hosts.begin(), hosts.end(),
                                    [&](const Host& host) { return static_cast<int>(host.gpus.size()) == size; });
  const std::optional<Routes> routes = routesOf(fabric, progress);
  const std::vector<InverseBandwidth> peaks = leastPeaks(fabric, pattern, routes);
  Bound best;
  for (std::size_t step = 0; step < peaks.size(); ++step) {
    best.time += peaks[step] * Rational(pattern.steps[step].count);
  }
  if (routes) {
    const Bandwidth all = bandwidthOf(fabric);
    const InverseBandwidth time = leastLinks(*routes, pattern) / all;
    if (best.time < time) {
      best = Bound{.time = time, .reason = Bound::Reason::routes, .capacity = all};
    }
  }
  Crossings places(pattern, 1, peaks);
  std::optional<Crossings> blocks;
  if (keepsHosts && areAlike) {
    blocks.emplace(pattern, size, peaks);
  }
  Sets sets(fabric, hosts);
  sets.addParts();
  sets.addBricks(progress);
  for (const Set& set : sets.all()) {
    const bool isWhole = blocks && set.hosts > 0;
    Crossings& crossings = isWhole ? *blocks : places;
    const int inside = isWhole ? set.hosts : set.gpus;
    const auto [out, in] = capacities(fabric, set.nodes);
    for (const bool isInto : {false, true}) {
      const Bandwidth& capacity = isInto ? in : out;
      if (capacity.isPositive()) {
        const int senders = isInto ? crossings.blocks() - inside : inside;
        const InverseBandwidth time = crossings.leastTime(senders, capacity, progress);
        if (best.time < time) {
          best = Bound{time, Bound::Reason::set, set.nodes, set.gpus, isInto, capacity};
        }
      }
    }
  }
  return best.time.isPositive() ? std::optional(best) : std::nullopt;
}

}  // namespace coppice::order
