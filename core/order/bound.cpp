// SPDX-License-Identifier: Apache-2.0
#include "order/bound.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "flow/max_flow.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::order {
namespace {

using fabric::NodeIndex;
using std::int64_t;

/// By step: a time that its fullest link has under every order, since some GPU sends or receives this much.
std::vector<InverseBandwidth> leastPeaks(const fabric::Fabric& fabric, const Pattern& pattern) {
  Bandwidth out;
  Bandwidth in;
  for (const NodeIndex gpu : fabric.gpus()) {
    out = std::max(out, fabric.egress(gpu));
    in = std::max(in, fabric.ingress(gpu));
  }
  std::vector<InverseBandwidth> peaks;
  for (const Step& step : pattern.steps) {
    std::map<int, Rational> sent;
    std::map<int, Rational> received;
    for (const Message& message : step.messages) {
      sent[message.from] += message.amount;
      received[message.to] += message.amount;
    }
    InverseBandwidth peak;
    for (const auto& [place, amount] : sent) {
      peak = std::max(peak, amount / out);
    }
    for (const auto& [place, amount] : received) {
      peak = std::max(peak, amount / in);
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
  }

  [[nodiscard]] int blocks() const { return m_blocks; }

  /// The least time of the steps where `count` of the blocks send to the others over the capacity.
  InverseBandwidth leastTime(int count, const Bandwidth& capacity, const Progress& progress) {
    const auto [found, isNew] = m_known.try_emplace({count, capacity});
    if (isNew) {
      throwIfCancelled(progress);
      found->second = isFew(count) ? byTrying(count, capacity)
                                   : (m_isCube ? inCube(count, capacity) : Rational(connectivity(), m_unit) / capacity);
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
  std::map<std::pair<int, Bandwidth>, InverseBandwidth> m_known;
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
  const std::vector<InverseBandwidth> peaks = leastPeaks(fabric, pattern);
  Bound best;
  for (std::size_t step = 0; step < peaks.size(); ++step) {
    best.time += peaks[step] * Rational(pattern.steps[step].count);
  }
  Crossings places(pattern, 1, peaks);
  std::optional<Crossings> blocks;
  if (keepsHosts && areAlike) {
    blocks.emplace(pattern, size, peaks);
  }
  for (const Set& set : setsOf(fabric, hosts)) {
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
          best = Bound{time, set.nodes, set.gpus, isInto, capacity};
        }
      }
    }
  }
  return best.time.isPositive() ? std::optional(best) : std::nullopt;
}

}  // namespace coppice::order
