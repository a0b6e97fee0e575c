// SPDX-License-Identifier: Apache-2.0
#include "nccl/search.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/failure.hpp"
#include "nccl/nvls_search.hpp"
#include "nccl/path_kinds.hpp"
#include "nccl/search_speeds.hpp"

namespace coppice::nccl {
namespace {

constexpr int kMaxSearched = 16;
constexpr int kTimeout = 1 << 14;
constexpr int kTimeoutSame = 1 << 8;
constexpr int kTimeoutGlobal = 1 << 19;
constexpr int kSmallBox = 8;

struct Channel {
  std::vector<int> gpus;
  int nic = -1;

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// What one search has found.
struct Rings {
  std::vector<Channel> channels;
  Rational speed;
  int hops = 0;

  [[nodiscard]] Rational bandwidth() const { return speed * Rational(static_cast<std::int64_t>(channels.size())); }
};

/// The search of NCCL for rings in one box.
class NcclSearch {
public:
  NcclSearch(const fabric::Fabric& fabric, const BoxModel& box, bool isAlone, int capability, const Progress& progress)
      : m_box(box),
        m_isAlone(isAlone),
        m_capability(capability),
        m_progress(progress),
        m_count(static_cast<int>(box.gpus.size())) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_capacity.push_back(arc.bandwidth.gigabytesPerSecond());
    }
    m_left = m_capacity;
  }

  Rings run() {
    const std::vector<Rational> speeds = searchSpeeds(m_capability, m_isAlone);
    const Rational total = totalBandwidth();
    const Rational widest = widestPath();
    std::size_t index = 0;
    while (index + 1 < speeds.size() && speeds[index] > widest) {
      ++index;
    }
    const int mostLinks = longestPath();
    int global = kTimeoutGlobal;
    bool isDone = false;
    for (; !isDone && index < speeds.size(); ++index) {
      for (int links = shortestPath(); !isDone && links <= mostLinks; ++links) {
        for (const bool isSame : {true, false}) {
          throwIfCancelled(m_progress);
          const int time = search(speeds[index], links, isSame);
          if (time < 0 || m_best.bandwidth() >= total) {
            isDone = true;
            break;
          }
          global -= kTimeout - std::max(time, 0);
        }
      }
      const bool isWorthSlower = m_best.channels.empty() ||
                                 (index + 1 < speeds.size() && speeds[index + 1] > m_best.speed * Rational(49, 100));
      isDone = isDone || !isWorthSlower || (global < 0 && !m_best.channels.empty());
    }
    duplicate();
    improve(speeds, mostLinks);
    return m_best;
  }

private:
  /// Of no link at all, more than there is.
  [[nodiscard]] Rational narrowest(const std::vector<int>& arcs) const {
    Rational least = arcs.empty() ? Rational(1 << 20) : m_left[arcs.front()];
    for (const int arc : arcs) {
      least = std::min(least, m_left[arc]);
    }
    return least;
  }

  /// What leaves a GPU for others, the largest of all GPUs.
  [[nodiscard]] Rational totalBandwidth() const {
    Rational most;
    for (int gpu = 0; gpu < m_count; ++gpu) {
      std::set<int> first;
      for (int other = 0; other < m_count; ++other) {
        if (other != gpu) {
          first.insert(m_box.way[gpu][other].front());
        }
      }
      Rational sum;
      for (const int arc : first) {
        sum += m_capacity[arc];
      }
      most = std::max(most, sum);
    }
    return most;
  }

  [[nodiscard]] Rational widestPath() const {
    Rational most;
    for (int a = 0; a < m_count; ++a) {
      if (m_isAlone) {
        for (int b = 0; b < m_count; ++b) {
          most = a == b ? most : std::max(most, narrowest(m_box.way[a][b]));
        }
      } else {
        for (int nic = 0; nic < m_box.nics; ++nic) {
          most = std::max(most, narrowest(m_box.toNic[a][nic]));
        }
      }
    }
    return most;
  }

  [[nodiscard]] int shortestPath() const {
    std::size_t least = 1 << 20;
    for (int a = 0; a < m_count; ++a) {
      for (int b = 0; b < m_count; ++b) {
        least = a == b ? least : std::min(least, m_box.way[a][b].size());
      }
    }
    return static_cast<int>(least);
  }

  [[nodiscard]] int longestPath() const {
    std::size_t most = 1;
    for (int a = 0; a < m_count; ++a) {
      for (int b = 0; b < m_count; ++b) {
        most = a == b ? most : std::max(most, m_box.way[a][b].size());
      }
    }
    return static_cast<int>(most);
  }

  /// Takes the speed off the links of a way; false where one has less left.
  bool take(const std::vector<int>& arcs) {
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (m_left[arcs[i]] < m_speed) {
        while (i > 0) {
          m_left[arcs[--i]] += m_speed;
        }
        return false;
      }
      m_left[arcs[i]] -= m_speed;
    }
    return true;
  }
  void giveBack(const std::vector<int>& arcs) {
    for (const int arc : arcs) {
      m_left[arc] += m_speed;
    }
  }

  /// Steps left; -1 where as many channels were found as there can be.
  int search(const Rational& speed, int links, bool isSame) {
    m_speed = speed;
    m_links = static_cast<std::size_t>(links);
    m_isSame = isSame;
    m_now = {.channels = {}, .speed = speed, .hops = 0};
    m_time = isSame ? kTimeoutSame : kTimeout;
    m_left = m_capacity;
    nextChannel();
    return m_time;
  }

  void nextChannel() {
    if (m_isAlone) {
      tryStarts(-1);
      return;
    }
    for (int i = 0; i < m_box.nics && m_time > 0; ++i) {
      const int nic = (static_cast<int>(m_now.channels.size()) + i) % m_box.nics;
      tryStarts(nic);
    }
  }

  void tryStarts(int nic) {
    m_used.assign(static_cast<std::size_t>(m_count), false);
    if (!m_now.channels.empty()) {
      const Channel before = m_now.channels.back();
      if (nic < 0 || m_isSame) {
        replay(before.gpus, nic);
      }
    } else {
      std::vector<int> order(static_cast<std::size_t>(m_count));
      std::iota(order.begin(), order.end(), 0);
      replay(order, nic);
    }
    if (m_isSame && !m_now.channels.empty()) {
      return;
    }
    std::vector<int> starts;
    for (int gpu = 0; gpu < m_count; ++gpu) {
      starts.push_back((static_cast<int>(nic < 0 ? 0 : m_now.channels.size()) + gpu) % m_count);
    }
    if (nic >= 0) {
      // The GPUs next to the NIC.
      std::size_t least = 1 << 20;
      for (int gpu = 0; gpu < m_count; ++gpu) {
        least = std::min(least, m_box.fromNic[nic][gpu].size());
      }
      std::erase_if(starts, [&](int gpu) { return m_box.fromNic[nic][gpu].size() > least; });
    }
    for (const int start : starts) {
      if (m_time > 0) {
        begin(start, nic, {});
      }
    }
  }

  void replay(const std::vector<int>& order, int nic) {
    if (m_time > 0) {
      begin(order.front(), nic, order);
    }
  }

  void begin(int start, int nic, const std::vector<int>& forced) {
    if (nic >= 0 && !take(m_box.fromNic[nic][start])) {
      return;
    }
    m_channel = {{start}, nic};
    m_used[start] = true;
    step(forced);
    m_used[start] = false;
    if (nic >= 0) {
      giveBack(m_box.fromNic[nic][start]);
    }
  }

  void step(const std::vector<int>& forced) {
    if (m_time <= 0) {
      return;
    }
    --m_time;
    const int at = m_channel.gpus.back();
    if (static_cast<int>(m_channel.gpus.size()) == m_count) {
      const std::vector<int>& last = m_isAlone ? m_box.way[at][m_channel.gpus.front()] : m_box.toNic[at][m_channel.nic];
      if ((m_isAlone && last.size() > m_links) || !take(last)) {
        return;
      }
      finish();
      giveBack(last);
      return;
    }
    for (const int next : nextGpus(at, forced)) {
      const std::vector<int>& arcs = m_box.way[at][next];
      if (arcs.size() > m_links || !take(arcs)) {
        continue;
      }
      m_channel.gpus.push_back(next);
      m_used[next] = true;
      m_now.hops += static_cast<int>(arcs.size());
      step(forced);
      m_now.hops -= static_cast<int>(arcs.size());
      m_used[next] = false;
      m_channel.gpus.pop_back();
      giveBack(arcs);
    }
  }

  [[nodiscard]] std::vector<int> nextGpus(int at, const std::vector<int>& forced) const {
    if (!forced.empty()) {
      const int next = forced[m_channel.gpus.size()];
      return m_used[next] ? std::vector<int>() : std::vector<int>{next};
    }
    std::vector<int> next;
    for (int i = 1; i < m_count; ++i) {
      const int gpu = (at + i) % m_count;
      if (!m_used[gpu]) {
        next.push_back(gpu);
      }
    }
    const bool isLast = static_cast<int>(m_channel.gpus.size()) + 1 == m_count && m_channel.nic >= 0;
    std::stable_sort(next.begin(), next.end(), [&](int a, int b) {
      if (isLast) {
        const auto& nicA = m_box.toNic[a][m_channel.nic];
        const auto& nicB = m_box.toNic[b][m_channel.nic];
        if (narrowest(nicA) != narrowest(nicB)) {
          return narrowest(nicA) > narrowest(nicB);
        }
        if (nicA.size() != nicB.size()) {
          return nicA.size() < nicB.size();
        }
      }
      const Rational left = narrowest(m_box.way[at][a]);
      const Rational right = narrowest(m_box.way[at][b]);
      return left != right ? left > right : m_box.way[at][a].size() < m_box.way[at][b].size();
    });
    return next;
  }

  void finish() {
    m_now.channels.push_back(m_channel);
    const Rational now = m_now.bandwidth();
    const Rational best = m_best.bandwidth();
    if (now > best || (now == best && m_now.hops < m_best.hops)) {
      m_best = m_now;
      if (static_cast<int>(m_now.channels.size()) == kMaxSearched) {
        m_time = -1;
      }
    }
    if (m_time > 0 && static_cast<int>(m_now.channels.size()) < kMaxSearched) {
      const Channel channel = m_channel;
      const std::vector<bool> used = m_used;
      nextChannel();
      m_channel = channel;
      m_used = used;
    }
    m_now.channels.pop_back();
  }

  /// ncclTopoDupChannels: fast channels become two of half the speed.
  void duplicate() {
    const auto count = static_cast<int>(m_best.channels.size());
    if (count == 0 || m_best.speed < Rational(25) || (m_capability > 80 && m_best.speed < Rational(50) && count > 4)) {
      return;
    }
    const int copies = std::min(2 * count, kMaxSearched);
    for (int i = count; i < copies; ++i) {
      m_best.channels.push_back(Channel(m_best.channels[i - count]));
    }
    m_best.speed *= Rational(1, 2);
  }

  /// The second pass: the same channels at higher speeds.
  void improve(const std::vector<Rational>& speeds, int links) {
    const Rings found = m_best;
    for (auto speed = speeds.rbegin(); speed != speeds.rend() && !found.channels.empty(); ++speed) {
      if (*speed <= m_best.speed) {
        continue;
      }
      const Rings before = m_best;
      search(*speed, links, false);
      if (m_best.channels.size() != found.channels.size()) {
        m_best = before;  // it needs as many channels
        break;
      }
      if (m_best.speed == before.speed) {
        break;
      }
    }
  }

  const BoxModel& m_box;
  bool m_isAlone;
  int m_capability;
  const Progress& m_progress;
  int m_count;
  std::vector<Rational> m_capacity;
  std::vector<Rational> m_left;
  Rational m_speed;
  std::size_t m_links = 1;
  bool m_isSame = true;
  int m_time = 0;
  Rings m_now;
  Rings m_best;
  Channel m_channel;
  std::vector<bool> m_used;
};

std::string speedText(const Rational& speed) {
  return toDecimal(speed, 6);
}

/// The worst kinds of paths of the channels: between GPUs, and to NICs.
std::pair<PathKind, PathKind> kindsOf(const PathKinds& kinds, const BoxModel& box, const std::vector<Channel>& channels,
                                      bool isAlone) {
  std::pair<PathKind, PathKind> worst{PathKind::nvl, PathKind::pix};
  for (const Channel& channel : channels) {
    const std::vector<int>& gpus = channel.gpus;
    for (std::size_t i = isAlone ? 0 : 1; i < gpus.size(); ++i) {
      const int before = i == 0 ? gpus.back() : gpus[i - 1];
      if (before != gpus[i]) {
        worst.first = std::max(worst.first, kinds.kindOf(box.way[before][gpus[i]]));
      }
    }
    if (channel.nic >= 0) {
      worst.second = std::max({worst.second, kinds.kindOf(box.fromNic[channel.nic][gpus.front()]),
                               kinds.kindOf(box.toNic[gpus.back()][channel.nic])});
    }
  }
  return worst;
}

GraphSet graphsFrom(const std::vector<Channel>& channels, const Rational& speed, bool isAlone,
                    const std::pair<PathKind, PathKind>& kinds) {
  GraphSet set;
  for (const int id : {kRingGraph, kTreeGraph}) {
    Graph graph{.id = id, .pattern = id == kRingGraph ? kRing : kBalancedTree};
    graph.speedIntra = graph.speedInter = speedText(speed);
    graph.latencyInter = "0";
    graph.typeIntra = toString(kinds.first);
    graph.typeInter = toString(kinds.second);
    const bool isSame = std::all_of(channels.begin(), channels.end(),
                                    [&](const Channel& channel) { return channel.gpus == channels.front().gpus; });
    graph.sameChannels = isSame ? 1 : 0;
    for (const Channel& channel : channels) {
      GraphChannel made;
      made.devices = channel.gpus;
      if (!isAlone) {
        const auto nic = static_cast<std::uint64_t>(std::max(channel.nic, 0));
        made.nets = {nic, nic};
      }
      graph.channels.push_back(std::move(made));
    }
    graph.channelCount = static_cast<int>(channels.size());
    set.graphs.push_back(std::move(graph));
  }
  return set;
}

/// Boxes with their kinds of wiring, and one box of each kind.
struct Kinds {
  std::vector<BoxModel> boxes;
  std::vector<int> kindOf;
  std::vector<const BoxModel*> models;

  Kinds(const fabric::Fabric& fabric, std::vector<BoxModel> all)
      : boxes(std::move(all)), kindOf(wiringKinds(fabric, boxes)) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (kindOf[i] == static_cast<int>(models.size())) {
        models.push_back(&boxes[i]);
      }
    }
  }
  Kinds(const Kinds&) = delete;
  Kinds& operator=(const Kinds&) = delete;

  [[nodiscard]] bool isAlone() const { return boxes.size() == 1; }
};

/// NVLS, where all boxes have the same heads.
std::optional<Graph> nvlsOf(const fabric::Fabric& fabric, const Kinds& kinds, int capability) {
  std::optional<Graph> found = nvlsGraph(fabric, *kinds.models.front(), kinds.isAlone(), capability);
  for (std::size_t kind = 1; kind < kinds.models.size() && found; ++kind) {
    if (nvlsGraph(fabric, *kinds.models[kind], kinds.isAlone(), capability) != found) {
      found.reset();
    }
  }
  return found;
}

/// The GPUs of a head's number, one of each box.
std::vector<HeadRanks> headsOf(const Graph& nvls, const std::vector<BoxModel>& boxes) {
  std::vector<HeadRanks> heads;
  for (const GraphChannel& channel : nvls.channels) {
    HeadRanks head;
    for (const BoxModel& box : boxes) {
      head.ranks.push_back(box.gpus[channel.devices.front()]);
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

/// @param rings of each kind
FoundGraphs foundOf(Ways& ways, const Kinds& kinds, const std::vector<Rings>& rings, const SearchOptions& options) {
  FoundGraphs found;
  std::vector<GraphSet> graphs;
  const PathKinds paths(ways.fabric());
  for (std::size_t kind = 0; kind < rings.size(); ++kind) {
    const std::vector<Channel>& channels = rings[kind].channels;
    graphs.push_back(graphsFrom(channels, rings[kind].speed, kinds.isAlone(),
                                kindsOf(paths, *kinds.models[kind], channels, kinds.isAlone())));
  }
  found.channels =
      orThrow(joinedOn(kinds.boxes, graphs, kinds.kindOf, {.computeCapability = options.computeCapability}));
  found.allreduce = orThrow(ringLoad(ways, found.channels.rings, Collective::allreduce));
  found.trees = orThrow(treeLoad(ways, found.channels.trees));
  found.kindOf = kinds.kindOf;
  found.graphs = std::move(graphs.front());
  found.others.assign(std::make_move_iterator(graphs.begin() + 1), std::make_move_iterator(graphs.end()));
  return found;
}

/// Chains that fill the links of a box evenly.
class BestSearch {
public:
  BestSearch(const fabric::Fabric& fabric, const BoxModel& box, bool isAlone, const Progress& progress)
      : m_box(box), m_isAlone(isAlone), m_progress(progress), m_count(static_cast<int>(box.gpus.size())) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_cost.push_back(Rational(1) / arc.bandwidth.gigabytesPerSecond());
    }
    m_use.assign(m_cost.size(), 0);
  }

  /// @param count of channels, to which the NICs are dealt out in turn
  std::vector<Channel> run(int count, bool isPaired) {
    std::fill(m_use.begin(), m_use.end(), 0);
    std::vector<Channel> channels;
    for (int c = 0; c < count; ++c) {
      throwIfCancelled(m_progress);
      const int nic = m_isAlone ? -1 : c % m_box.nics;
      if (isPaired && c % 2 == 1 && m_isAlone) {
        Channel reversed = channels.back();
        std::reverse(reversed.gpus.begin(), reversed.gpus.end());
        channels.push_back(std::move(reversed));
      } else {
        channels.push_back(best(nic));
      }
      add(channels.back(), 1);
    }
    // Each in turn is taken out and found again among the others.
    const int rounds = m_count <= kSmallBox ? 4 : 2;
    for (int round = 0; round < rounds && !isPaired; ++round) {
      bool isBetter = false;
      for (Channel& channel : channels) {
        throwIfCancelled(m_progress);
        const auto before = fullness();
        add(channel, -1);
        Channel other = best(channel.nic);
        add(other, 1);
        if (fullness() < before) {
          channel = std::move(other);
          isBetter = true;
        } else {
          add(other, -1);
          add(channel, 1);
        }
      }
      if (!isBetter) {
        break;
      }
    }
    return channels;
  }

private:
  void add(const Channel& channel, int times) {
    const auto use = [&](const std::vector<int>& arcs) {
      for (const int arc : arcs) {
        m_use[arc] += times;
      }
    };
    for (std::size_t i = 0; i + 1 < channel.gpus.size(); ++i) {
      use(m_box.way[channel.gpus[i]][channel.gpus[i + 1]]);
    }
    if (m_isAlone) {
      use(m_box.way[channel.gpus.back()][channel.gpus.front()]);
    } else {
      use(m_box.fromNic[channel.nic][channel.gpus.front()]);
      use(m_box.toNic[channel.gpus.back()][channel.nic]);
    }
  }

  /// The fullest link, then how many are as full.
  [[nodiscard]] std::pair<Rational, int> fullness() const {
    std::pair<Rational, int> most{Rational(0), 0};
    for (std::size_t arc = 0; arc < m_use.size(); ++arc) {
      if (m_use[arc] == 0) {
        continue;
      }
      const Rational full = m_cost[arc] * Rational(m_use[arc]);
      if (full > most.first) {
        most = {full, 1};
      } else if (full == most.first) {
        ++most.second;
      }
    }
    return most;
  }

  /// The chain with the least maximum, then the least sum of what its links carry, by depth first with a bound.
  Channel best(int nic) {
    m_found.reset();
    m_steps = m_count <= kSmallBox ? 1 << 15 : 1 << 10;
    std::vector<int> starts(static_cast<std::size_t>(m_isAlone ? 1 : m_count));
    std::iota(starts.begin(), starts.end(), 0);
    if (!m_isAlone) {
      std::stable_sort(starts.begin(), starts.end(),
                       [&](int a, int b) { return m_box.fromNic[nic][a].size() < m_box.fromNic[nic][b].size(); });
    }
    m_visited.assign(static_cast<std::size_t>(m_count), false);
    for (const int start : starts) {
      Score score{};
      if (!m_isAlone) {
        score = enter(score, m_box.fromNic[nic][start]);
      }
      m_path = {start};
      m_visited[start] = true;
      descend(nic, score);
      m_visited[start] = false;
      if (!m_isAlone) {
        leave(m_box.fromNic[nic][start]);
      }
    }
    return {m_found->second, nic};
  }

  using Score = std::pair<Rational, Rational>;

  Score enter(Score score, const std::vector<int>& arcs) {
    for (const int arc : arcs) {
      ++m_use[arc];
      const Rational full = m_cost[arc] * Rational(m_use[arc]);
      score.first = std::max(score.first, full);
      score.second += full;
    }
    return score;
  }
  void leave(const std::vector<int>& arcs) {
    for (const int arc : arcs) {
      --m_use[arc];
    }
  }

  void descend(int nic, const Score& score) {
    if ((m_found && !(score < m_found->first)) || (m_found && --m_steps < 0)) {
      return;
    }
    const int at = m_path.back();
    if (static_cast<int>(m_path.size()) == m_count) {
      const std::vector<int>& last = m_isAlone ? m_box.way[at][m_path.front()] : m_box.toNic[at][nic];
      const Score whole = enter(score, last);
      leave(last);
      if (!m_found || whole < m_found->first) {
        m_found = {whole, m_path};
      }
      return;
    }
    std::vector<std::pair<Score, int>> next;
    for (int gpu = 0; gpu < m_count; ++gpu) {
      if (!m_visited[gpu]) {
        const Score one = enter(score, m_box.way[at][gpu]);
        leave(m_box.way[at][gpu]);
        next.emplace_back(one, gpu);
      }
    }
    std::sort(next.begin(), next.end());
    for (const auto& [unused, gpu] : next) {
      const std::vector<int>& arcs = m_box.way[at][gpu];
      const Score one = enter(score, arcs);
      m_path.push_back(gpu);
      m_visited[gpu] = true;
      descend(nic, one);
      m_visited[gpu] = false;
      m_path.pop_back();
      leave(arcs);
    }
  }

  const BoxModel& m_box;
  bool m_isAlone;
  const Progress& m_progress;
  int m_count;
  std::vector<Rational> m_cost;
  std::vector<int> m_use;
  std::optional<std::pair<Score, std::vector<int>>> m_found;
  std::vector<int> m_path;
  std::vector<bool> m_visited;
  int m_steps = 0;
};

}  // namespace

Result<FoundGraphs> searchAsNccl(Ways& ways, const SearchOptions& options, const Progress& progress) {
  return guarded([&]() -> Result<FoundGraphs> {
    const Kinds kinds(ways.fabric(), orThrow(boxModels(ways)));
    std::vector<Rings> found;
    for (const BoxModel* box : kinds.models) {
      if (box->gpus.size() == 1) {
        Rings rings{.channels = {}, .speed = Rational(10)};
        for (int nic = 0; nic < std::clamp(box->nics, 1, kMaxSearched); ++nic) {
          rings.channels.push_back({{0}, kinds.isAlone() ? -1 : nic});
        }
        found.push_back(std::move(rings));
        continue;
      }
      Rings rings = NcclSearch(ways.fabric(), *box, kinds.isAlone(), options.computeCapability, progress).run();
      if (rings.channels.empty()) {
        // NCCL falls back to the order of devices at 0.1 GB/s.
        Channel channel{.gpus = std::vector<int>(box->gpus.size()), .nic = kinds.isAlone() ? -1 : 0};
        std::iota(channel.gpus.begin(), channel.gpus.end(), 0);
        rings = {.channels = {channel}, .speed = Rational(1, 10)};
      }
      found.push_back(std::move(rings));
    }
    FoundGraphs stock = foundOf(ways, kinds, found, options);
    stock.nvls = nvlsOf(ways.fabric(), kinds, options.computeCapability);
    if (stock.nvls && stock.nvls->channelCount > 1) {  // NCCL takes NVLS with two channels and more
      stock.channels.nvlsHeads = headsOf(*stock.nvls, kinds.boxes);
    }
    return stock;
  });
}

Result<FoundGraphs> searchBest(Ways& ways, const FoundGraphs& least, const SearchOptions& options,
                               const Progress& progress) {
  return guarded([&]() -> Result<FoundGraphs> {
    const Kinds kinds(ways.fabric(), orThrow(boxModels(ways)));
    const bool isAlone = kinds.isAlone();
    FoundGraphs best = least;
    std::vector<BestSearch> searches;
    for (const BoxModel* box : kinds.models) {
      searches.emplace_back(ways.fabric(), *box, isAlone, progress);
    }
    const int nics = std::max(kinds.boxes.front().nics, 1);
    for (int count = 1; count <= kMaxSearched; ++count) {
      if (!isAlone && count % std::min(nics, kMaxSearched) != 0) {
        continue;
      }
      for (const bool isPaired : {false, true}) {
        if (isPaired && (!isAlone || count % 2 == 1)) {
          continue;
        }
        std::vector<Rings> rings;
        for (BestSearch& search : searches) {
          rings.push_back({.channels = search.run(count, isPaired), .speed = Rational(1)});
        }
        FoundGraphs found = foundOf(ways, kinds, rings, options);
        if (found.allreduce.algbw > best.allreduce.algbw) {
          // The rate of a ring: what each channel carries of the data at that throughput.
          const auto n = static_cast<std::int64_t>(ways.fabric().gpuCount());
          const Rational speed = found.allreduce.algbw.gigabytesPerSecond() * Rational(2 * (n - 1), n) /
                                 Rational(static_cast<std::int64_t>(count));
          for (int kind = 0; kind < static_cast<int>(kinds.models.size()); ++kind) {
            for (Graph& graph : (kind == 0 ? found.graphs : found.others[kind - 1]).graphs) {
              graph.speedIntra = graph.speedInter = speedText(speed);
            }
          }
          // Files do not change NVLS.
          found.nvls = best.nvls;
          found.channels.nvlsHeads = best.channels.nvlsHeads;
          best = std::move(found);
        }
      }
    }
    return best;
  });
}

std::vector<std::string> uncertainties() {
  return {
      "the search tells kinds of paths (NVL, PIX, PHB, SYS) by their number of links, the file by the shape of the "
      "box: compare typeintra and typeinter with nvidia-smi topo -m, since NVL and PIX allow LL128",
      "bandwidths are those of the fabric; NCCL uses its own, which import takes with its default rates",
      "every channel comes back to the NIC that it came from (NCCL_CROSS_NIC=0), and trees are the chains of rings",
      "the log of a run says what NCCL really chose: import-run"};
}

}  // namespace coppice::nccl
