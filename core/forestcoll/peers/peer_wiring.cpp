// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/peers/peer_wiring.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// A link with equal capacity both ways.
struct Edge {
  int64_t capacity = 0;
  int64_t load = 0;
};

struct Neighbour {
  int node = 0;
  int edge = 0;
};

/// Switches and nics that are joined to each other, with the GPUs around them.
struct SwitchNetwork {
  std::vector<int> switches;
  std::vector<int> gpus;  ///< in rank order
  int64_t capacity = 0;   ///< of all links to its GPUs
};

/// The demand between two GPUs.
using Demand = std::map<std::pair<int, int>, int64_t>;

/// Part of a wire on one route.
struct Piece {
  int a = 0;
  int b = 0;
  int64_t trees = 0;
  std::vector<int> relays;
  std::vector<int> edges;
};

/// `count` different steps of 1 .. places/2 that reach every place on a circle in few hops, forwards and backwards:
/// the digits of a number system whose base is as large as the count allows, and then others, evenly spread.
std::vector<int> chooseSteps(int places, int count) {
  const int max = places / 2;
  std::vector<int> steps;
  std::set<int> taken;
  const auto add = [&](int64_t step) {
    if (static_cast<int>(steps.size()) < count && step >= 1 && step <= max &&
        taken.insert(static_cast<int>(step)).second) {
      steps.push_back(static_cast<int>(step));
    }
  };
  if (count >= max) {
    for (int step = 1; step <= max; ++step) {
      add(step);
    }
    return steps;
  }
  const auto powerOf = [&](int64_t base, int exponent) {
    int64_t power = 1;
    for (int i = 0; i < exponent && power <= places; ++i) {
      power *= base;
    }
    return power;
  };
  // The smallest number of digits whose steps fit the count; with too few steps even for base 3, one step per digit.
  int digits = 1;
  int base = 2;
  for (; digits <= count; ++digits) {
    base = 2;
    while (powerOf(base, digits) < places) {
      ++base;
    }
    if (digits * (base / 2) <= count) {
      break;
    }
  }
  const bool isTooFew = digits > count;
  digits = std::min(digits, count);
  for (int digit = 0; digit < digits; ++digit) {
    const int64_t power = powerOf(base, digit);
    for (int64_t factor = 1; factor <= (isTooFew ? 1 : base / 2); ++factor) {
      add(factor * power);
    }
  }
  const int missing = count - static_cast<int>(steps.size());
  for (int i = 0; i < missing; ++i) {
    add(1 + static_cast<int64_t>(max - 1) * (2 * i + 1) / (2 * missing));
  }
  for (int step = 1; static_cast<int>(steps.size()) < count; ++step) {
    add(step);
  }
  return steps;
}

/// The pairs of a round of a tournament of an even number of players.
int opponent(int player, int round, int players) {
  const int others = players - 1;
  if (player == others) {
    // The one who would meet himself: 2 x = round.
    return round % 2 == 0 ? round / 2 : (round + others) / 2;
  }
  const int other = (round + others - player) % others;
  return other == player ? others : other;
}

class PeerWirer {
public:
  PeerWirer(const Network& network, const std::vector<TreeArc>& capacities, int maxPeers, WiringStyle style,
            const Progress& progress)
      : m_network(network), m_progress(progress), m_maxPeers(maxPeers), m_style(style), m_clusters(network.nodeCount) {
    m_near.resize(network.nodeCount);
    for (const TreeArc& arc : capacities) {
      if (arc.tail < arc.head && arc.capacity > 0) {
        const int edge = static_cast<int>(m_edges.size());
        m_edges.push_back({arc.capacity, 0});
        m_near[arc.tail].push_back({arc.head, edge});
        m_near[arc.head].push_back({arc.tail, edge});
      }
    }
    m_budget.assign(network.nodeCount, maxPeers);
    m_networksLeft.assign(network.nodeCount, 0);
    m_isDirect.resize(network.nodeCount);
    for (const int gpu : network.gpus) {
      for (const Neighbour& next : m_near[gpu]) {
        if (isGpu(next.node)) {
          m_isDirect[gpu].insert(next.node);
          --m_budget[gpu];
          m_clusters.join(gpu, next.node);
        }
      }
    }
    m_wiring.isReplaced.assign(network.nodeCount, 0);
    m_hops.assign(network.nodeCount, -1);
  }

  std::optional<PeerWiring> run() {
    std::vector<SwitchNetwork> networks = findNetworks();
    for (const SwitchNetwork& part : networks) {
      for (const int gpu : part.gpus) {
        ++m_networksLeft[gpu];
      }
    }
    bool hasWires = false;
    for (std::size_t i = 0; i < networks.size(); ++i) {
      throwIfCancelled(m_progress);
      m_progress.report("wiring", static_cast<double>(i) / static_cast<double>(networks.size()));
      const SwitchNetwork& part = networks[i];
      for (const int gpu : part.gpus) {
        --m_networksLeft[gpu];
      }
      if (mayStayWhole(part)) {
        for (const int gpu : part.gpus) {
          m_budget[gpu] -= static_cast<int>(part.gpus.size()) - 1;
          m_clusters.join(part.gpus.front(), gpu);
        }
        continue;
      }
      hasWires = true;
      wire(part);
    }
    m_progress.report("wiring", 1);
    const int first = m_clusters.find(m_network.gpus.front());
    const bool isJoined = std::all_of(m_network.gpus.begin(), m_network.gpus.end(),
                                      [&](int gpu) { return m_clusters.find(gpu) == first; });
    if (!isJoined ||
        std::any_of(m_network.gpus.begin(), m_network.gpus.end(), [&](int gpu) { return m_budget[gpu] < 0; })) {
      fail();
    }
    if (!hasWires) {
      return std::nullopt;
    }
    return std::move(m_wiring);
  }

private:
  [[nodiscard]] bool isGpu(int node) const { return m_network.isGpu[node] != 0; }

  [[noreturn]] void fail() const {
    throw Failure{{ErrorCode::infeasible,
                   "no wiring was found in which every GPU reaches the others with at most " +
                       std::to_string(m_maxPeers) + (m_maxPeers == 1 ? " peer" : " peers") + " per GPU",
                   "allow more peers"}};
  }

  /// Those of few GPUs first, and of those the fast ones: boxes before what joins them.
  std::vector<SwitchNetwork> findNetworks() {
    std::vector<SwitchNetwork> networks;
    std::vector<char> isSeen(m_network.nodeCount, 0);
    std::vector<int> rank(m_network.nodeCount, 0);
    for (std::size_t i = 0; i < m_network.gpus.size(); ++i) {
      rank[m_network.gpus[i]] = static_cast<int>(i);
    }
    for (int start = 0; start < m_network.nodeCount; ++start) {
      if (isGpu(start) || isSeen[start] != 0) {
        continue;
      }
      SwitchNetwork part;
      std::set<int> gpus;
      part.switches.push_back(start);
      isSeen[start] = 1;
      for (std::size_t i = 0; i < part.switches.size(); ++i) {
        for (const Neighbour& next : m_near[part.switches[i]]) {
          if (isGpu(next.node)) {
            gpus.insert(rank[next.node]);
            part.capacity = checkedAdd(part.capacity, m_edges[next.edge].capacity);
          } else if (isSeen[next.node] == 0) {
            isSeen[next.node] = 1;
            part.switches.push_back(next.node);
          }
        }
      }
      for (const int gpu : gpus) {
        part.gpus.push_back(m_network.gpus[gpu]);
      }
      if (part.gpus.size() > 1) {
        networks.push_back(std::move(part));
      }
    }
    std::stable_sort(networks.begin(), networks.end(),
                     [](const SwitchNetwork& a, const SwitchNetwork& b) { return a.gpus.size() < b.gpus.size(); });
    return networks;
  }

  /// Leaves at least one peer for every network to come.
  bool mayStayWhole(const SwitchNetwork& part) const {
    const int peers = static_cast<int>(part.gpus.size()) - 1;
    return std::all_of(part.gpus.begin(), part.gpus.end(),
                       [&](int gpu) { return peers + m_networksLeft[gpu] <= m_budget[gpu]; });
  }

  void wire(const SwitchNetwork& part) {
    int degree = m_maxPeers;
    for (const int gpu : part.gpus) {
      degree = std::min(degree, m_budget[gpu] / (m_networksLeft[gpu] + 1));
    }
    if (degree < 1) {
      fail();
    }
    const std::vector<std::vector<int>> clusters = clustersOf(part);
    Demand demand;
    if (!areAlike(clusters)) {
      demand = wireCircle(clusters, degree);
    } else {
      const Demand local = wireLeaves(clusters);
      const int localDegree = maxPartners(local);
      m_wiring.hasLeaves = m_wiring.hasLeaves || localDegree > 0;
      const bool usesLocal = m_style == WiringStyle::leaves && localDegree < degree;
      const int otherDegree = usesLocal ? degree - localDegree : degree;
      auto all = wireAllPairs(clusters, otherDegree);
      demand = all ? *std::move(all) : wireAlike(clusters, otherDegree);
      if (usesLocal) {
        demand.insert(local.begin(), local.end());
      }
    }
    std::vector<Piece> pieces = route(part, demand);
    fit(pieces);
    std::map<int, std::set<int>> peers;
    for (Piece& piece : pieces) {
      if (piece.trees == 0) {
        continue;
      }
      m_clusters.join(piece.a, piece.b);
      if (m_isDirect[piece.a].count(piece.b) == 0) {
        peers[piece.a].insert(piece.b);
        peers[piece.b].insert(piece.a);
      }
      m_wiring.wires.push_back({piece.a, piece.b, piece.trees, std::move(piece.relays)});
    }
    for (const auto& [gpu, others] : peers) {
      m_budget[gpu] -= static_cast<int>(others.size());
    }
    for (const int node : part.switches) {
      m_wiring.isReplaced[node] = 1;
    }
  }

  /// Capacity of a GPU's ports into the current network.
  [[nodiscard]] int64_t portOf(int gpu) const {
    int64_t sum = 0;
    for (const Neighbour& next : m_near[gpu]) {
      if (m_isInPart[next.node] != 0) {
        sum = checkedAdd(sum, m_edges[next.edge].capacity);
      }
    }
    return sum;
  }

  /// The first switch with more than two neighbours on a GPU's way into the network: its leaf or rail.
  [[nodiscard]] int leafOf(int gpu) const {
    int before = gpu;
    int node = -1;
    for (const Neighbour& next : m_near[gpu]) {
      if (m_isInPart[next.node] != 0) {
        node = next.node;
        break;
      }
    }
    while (m_near[node].size() == 2) {
      const int next = m_near[node][m_near[node].front().node == before ? 1 : 0].node;
      if (isGpu(next)) {
        break;
      }
      before = std::exchange(node, next);
    }
    return node;
  }

  /// The network's GPUs by the clusters that are joined so far. Where these are all one, another network of the same
  /// boxes has joined them (planes, rails): the clusters are then those from before that. Without any, each GPU is its
  /// own.
  std::vector<std::vector<int>> clustersOf(const SwitchNetwork& part) {
    m_isInPart.assign(m_network.nodeCount, 0);
    for (const int node : part.switches) {
      m_isInPart[node] = 1;
    }
    std::vector<std::vector<int>> clusters = grouped(part, m_clusters);
    if (clusters.size() > 1) {
      constexpr std::size_t kMaxStates = 64;
      if (m_before.size() == kMaxStates) {
        m_before.pop_front();
      }
      m_before.push_back(m_clusters);
    }
    for (auto state = m_before.rbegin(); state != m_before.rend() && clusters.size() == 1; ++state) {
      clusters = grouped(part, *state);
    }
    if (clusters.size() == 1) {
      clusters.clear();
      for (const int gpu : part.gpus) {
        clusters.push_back({gpu});
      }
    }
    for (std::vector<int>& cluster : clusters) {
      std::stable_sort(cluster.begin(), cluster.end(), [&](int a, int b) { return leafOf(a) < leafOf(b); });
    }
    return clusters;
  }

  static std::vector<std::vector<int>> grouped(const SwitchNetwork& part, DisjointSets& state) {
    std::map<int, std::size_t> indexOf;
    std::vector<std::vector<int>> clusters;
    for (const int gpu : part.gpus) {
      const auto [found, isNew] = indexOf.try_emplace(state.find(gpu), clusters.size());
      if (isNew) {
        clusters.emplace_back();
      }
      clusters[found->second].push_back(gpu);
    }
    return clusters;
  }

  [[nodiscard]] bool areAlike(const std::vector<std::vector<int>>& clusters) const {
    const std::vector<int>& first = clusters.front();
    return std::all_of(clusters.begin(), clusters.end(), [&](const std::vector<int>& cluster) {
      return cluster.size() == first.size() && std::equal(cluster.begin(), cluster.end(), first.begin(),
                                                          [&](int a, int b) { return portOf(a) == portOf(b); });
    });
  }

  static void add(Demand& demand, int a, int b, int64_t trees) {
    if (a != b && trees > 0) {
      demand[{std::min(a, b), std::max(a, b)}] += trees;
    }
  }

  /// Rings of the GPUs with the same number on one leaf, where there are several leaves. They get what others leave
  /// over.
  Demand wireLeaves(const std::vector<std::vector<int>>& clusters) const {
    Demand demand;
    std::set<int> leaves;
    for (std::size_t i = 0; i < clusters.front().size(); ++i) {
      std::map<int, std::vector<int>> onLeaf;
      for (const std::vector<int>& cluster : clusters) {
        const int leaf = leafOf(cluster[i]);
        onLeaf[leaf].push_back(cluster[i]);
        leaves.insert(leaf);
      }
      for (const auto& [leaf, gpus] : onLeaf) {
        for (std::size_t g = 0; g < gpus.size() && gpus.size() > 1; ++g) {
          const int next = gpus[(g + 1) % gpus.size()];
          demand.try_emplace({std::min(gpus[g], next), std::max(gpus[g], next)}, 0);
        }
      }
    }
    return leaves.size() > 1 ? demand : Demand();
  }

  /// Every pair of clusters gets an equal share, so that data goes straight from one to another; each GPU serves a
  /// range of steps. Nothing where that takes more than `degree` peers.
  std::optional<Demand> wireAllPairs(const std::vector<std::vector<int>>& clusters, int degree) const {
    const int count = static_cast<int>(clusters.size());
    const std::vector<int>& first = clusters.front();
    int64_t total = 0;
    for (const int gpu : first) {
      total = checkedAdd(total, portOf(gpu));
    }
    const int64_t base = total / (count - 1);
    const int64_t extra = total % (count - 1);
    if (base == 0 || (count - 1) / static_cast<int>(first.size()) > degree) {
      return std::nullopt;
    }
    std::size_t port = 0;
    int64_t room = portOf(first.front());
    /// The next `trees` of the ports' capacity, by port.
    const auto take = [&](int64_t trees) {
      std::vector<std::pair<int, int64_t>> taken;
      while (trees > 0) {
        while (room == 0) {
          room = portOf(first[++port]);
        }
        const int64_t amount = std::min(trees, room);
        taken.emplace_back(static_cast<int>(port), amount);
        trees -= amount;
        room -= amount;
      }
      return taken;
    };
    Demand demand;
    if (count % 2 == 0) {
      const int64_t trees = base + extra % 2;
      for (const auto& [i, amount] : take(trees)) {
        for (int c = 0; c < count / 2; ++c) {
          add(demand, clusters[c][i], clusters[c + count / 2][i], amount);
        }
      }
    }
    for (int step = 1; step <= (count - 1) / 2; ++step) {
      throwIfCancelled(m_progress);
      const int64_t trees = base + (2 * step <= extra ? 1 : 0);
      // In turns, so that a GPU serves both directions of a step.
      for (int64_t left = trees; left > 0;) {
        const int64_t chunk = std::clamp<int64_t>(room / 2, 1, left);
        left -= chunk;
        auto forward = take(chunk);
        auto back = take(chunk);
        for (std::size_t f = 0, b = 0; f < forward.size() && b < back.size();) {
          const int64_t amount = std::min(forward[f].second, back[b].second);
          for (int c = 0; c < count; ++c) {
            add(demand, clusters[c][forward[f].first], clusters[(c + step) % count][back[b].first], amount);
          }
          f += (forward[f].second -= amount) == 0 ? 1 : 0;
          b += (back[b].second -= amount) == 0 ? 1 : 0;
        }
      }
    }
    if (maxPartners(demand) > degree) {
      return std::nullopt;
    }
    return demand;
  }

  /// GPU i of a cluster joins GPU i of others. A step takes two of its peers, one on each side; a round of a
  /// tournament, which needs an even number of clusters, takes one.
  Demand wireAlike(const std::vector<std::vector<int>>& clusters, int degree) const {
    const int count = static_cast<int>(clusters.size());
    const int ports = static_cast<int>(clusters.front().size());
    Demand demand;
    if (degree == 1 && count % 2 != 0) {
      // No perfect matching of the clusters for one GPU alone: two GPUs take one side of a step each.
      const std::vector<int> steps = chooseSteps(count, std::max(1, ports / 2));
      for (int i = 0; i + 1 < ports; i += 2) {
        const int step = steps[static_cast<std::size_t>(i / 2) % steps.size()];
        for (int c = 0; c < count; ++c) {
          const int from = clusters[c][i];
          const int to = clusters[(c + step) % count][i + 1];
          add(demand, from, to, std::min(portOf(from), portOf(to)));
        }
      }
      return demand;
    }
    const int max = std::max(1, count / 2);  // different steps
    for (int i = 0; i < ports; ++i) {
      const int64_t port = portOf(clusters.front()[i]);
      int pairs = std::min(degree / 2, (max + ports - 1) / ports);
      bool hasRound = false;
      if (count % 2 == 0) {
        hasRound = port % 2 != 0 || (pairs == degree / 2 && degree % 2 != 0);
        if (hasRound && 2 * pairs + 1 > degree) {
          hasRound = pairs > 1;  // one step alone makes a ring, one round alone joins nothing but pairs
          pairs -= hasRound ? 1 : 0;
        }
      }
      const std::vector<int> steps = chooseSteps(count, std::min(max, std::max(1, ports * pairs)));
      const int64_t shares = 2 * pairs + (hasRound ? 1 : 0);
      const int64_t rest = port % shares;
      for (int layer = 0; layer < pairs; ++layer) {
        const int64_t trees = port / shares + (2 * layer + 1 < rest ? 1 : 0);
        const int step = steps[static_cast<std::size_t>(layer * ports + i) % steps.size()];
        for (int c = 0; c < count; ++c) {
          add(demand, clusters[c][i], clusters[(c + step) % count][i], trees);
        }
      }
      if (hasRound) {
        const int64_t trees = port / shares + rest % 2;
        for (int c = 0; c < count; ++c) {
          const int other = opponent(c, i % (count - 1), count);
          if (c < other) {
            add(demand, clusters[c][i], clusters[other][i], trees);
          }
        }
      }
    }
    return demand;
  }

  /// Ports on a circle, neighbours from different clusters. Every step joins what lies at one place to what lies a step
  /// further on, with half a share of each port on either side. As many steps as the limit allows.
  Demand wireCircle(const std::vector<std::vector<int>>& clusters, int degree) const {
    std::vector<std::tuple<Rational, std::size_t, int>> order;
    std::map<int, std::size_t> clusterOf;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      const auto size = static_cast<int64_t>(clusters[c].size());
      for (int64_t i = 0; i < size; ++i) {
        order.emplace_back(Rational(2 * i + 1, 2 * size), c, clusters[c][i]);
        clusterOf[clusters[c][i]] = c;
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<int> gpus;
    std::vector<int64_t> ports;
    for (const auto& [place, cluster, gpu] : order) {
      gpus.push_back(gpu);
      ports.push_back(portOf(gpu));
    }
    const int count = static_cast<int>(gpus.size());
    Demand demand;
    for (int steps = std::clamp(degree / 2, 1, count / 2); steps >= 1; --steps) {
      throwIfCancelled(m_progress);
      demand.clear();
      const std::vector<int> chosen = chooseSteps(count, steps);
      for (std::size_t layer = 0; layer < chosen.size(); ++layer) {
        addCircle(gpus, ports, chosen[layer], static_cast<int64_t>(layer), steps, clusterOf, demand);
      }
      if (maxPartners(demand) <= degree) {
        return demand;
      }
    }
    return thinned(demand, degree);
  }

  /// One step of the circle: overlaps of the ports' shares with themselves, turned by the step.
  static void addCircle(const std::vector<int>& gpus, const std::vector<int64_t>& ports, int step, int64_t layer,
                        int64_t layers, const std::map<int, std::size_t>& clusterOf, Demand& demand) {
    const std::size_t count = gpus.size();
    std::vector<int64_t> start(2 * count + 1, 0);  // twice round
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const int64_t half = ports[i % count] / 2;
      start[i + 1] = checkedAdd(start[i], half / layers + (layer < half % layers ? 1 : 0));
    }
    const int64_t turn = start[step];
    std::size_t j = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int64_t from = start[i] + turn;
      const int64_t to = start[i + 1] + turn;
      while (j > 0 && start[j] > from) {
        --j;
      }
      while (start[j + 1] <= from && j + 1 < 2 * count) {
        ++j;
      }
      for (std::size_t k = j; k < 2 * count && start[k] < to; ++k) {
        const int64_t overlap = std::min(to, start[k + 1]) - std::max(from, start[k]);
        const int a = gpus[i];
        const int b = gpus[k % count];
        if (overlap > 0 && clusterOf.at(a) != clusterOf.at(b)) {
          add(demand, a, b, overlap);
        }
      }
    }
  }

  static int maxPartners(const Demand& demand) {
    std::map<int, int> partners;
    int max = 0;
    for (const auto& [pair, trees] : demand) {
      max = std::max({max, ++partners[pair.first], ++partners[pair.second]});
    }
    return max;
  }

  /// The thickest wires first, as far as the limit goes.
  static Demand thinned(const Demand& demand, int degree) {
    std::vector<std::pair<std::pair<int, int>, int64_t>> wires(demand.begin(), demand.end());
    std::stable_sort(wires.begin(), wires.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    Demand kept;
    std::map<int, int> partners;
    for (const auto& [pair, trees] : wires) {
      int& first = partners[pair.first];
      int& second = partners[pair.second];
      if (first < degree && second < degree) {
        ++first;
        ++second;
        kept.emplace(pair, trees);
      }
    }
    return kept;
  }

  /// Hops from a GPU through the network's switches, for all its nodes and GPUs.
  void measureHops(int from) {
    for (const int node : m_reached) {
      m_hops[node] = -1;
    }
    m_reached.assign(1, from);
    m_hops[from] = 0;
    for (std::size_t i = 0; i < m_reached.size(); ++i) {
      const int node = m_reached[i];
      if (isGpu(node) && node != from) {
        continue;
      }
      for (const Neighbour& next : m_near[node]) {
        const bool isInside = isGpu(next.node) ? node != from : m_isInPart[next.node] != 0;
        if (isInside && m_hops[next.node] < 0) {
          m_hops[next.node] = m_hops[node] + 1;
          m_reached.push_back(next.node);
        }
      }
    }
  }

  /// Shortest routes; where there are several, a wire is split over some of them, the least loaded first.
  std::vector<Piece> route(const SwitchNetwork& part, const Demand& demand) {
    constexpr int64_t kMaxPieces = 4;
    std::vector<Piece> pieces;
    const bool isStar = part.switches.size() == 1;
    int measured = -1;
    std::size_t done = 0;
    for (const auto& [pair, trees] : demand) {
      if (++done % 256 == 0) {
        throwIfCancelled(m_progress);
      }
      const auto [a, b] = pair;
      if (!isStar && measured != a) {
        measureHops(a);
        measured = a;
      }
      const std::size_t first = pieces.size();
      int64_t left = trees;
      for (int64_t share = kMaxPieces; share >= 1 && (left > 0 || share == kMaxPieces); --share) {
        Piece piece{a, b, (left + share - 1) / share, {}, {}};
        const bool isOnly = isStar ? routeThrough(part.switches.front(), piece) : routeBack(piece);
        if (isOnly) {
          piece.trees = left;
        }
        left -= piece.trees;
        for (const int edge : piece.edges) {
          m_edges[edge].load = checkedAdd(m_edges[edge].load, piece.trees);
        }
        const auto same = std::find_if(pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end(),
                                       [&](const Piece& other) { return other.relays == piece.relays; });
        if (same != pieces.end()) {
          same->trees += piece.trees;
        } else {
          pieces.push_back(std::move(piece));
        }
      }
    }
    return pieces;
  }

  [[nodiscard]] int edgeBetween(int gpu, int node) const {
    for (const Neighbour& next : m_near[gpu]) {
      if (next.node == node) {
        return next.edge;
      }
    }
    throw Failure{{ErrorCode::internal, "a wire leaves its network"}};
  }

  /// By way of the network's only switch.
  bool routeThrough(int node, Piece& piece) const {
    piece.relays = {node};
    piece.edges = {edgeBetween(piece.a, node), edgeBetween(piece.b, node)};
    return true;
  }

  /// From b back to a along falling hops, by the links with most room. True where there is one route alone.
  bool routeBack(Piece& piece) const {
    bool isOnly = true;
    int node = piece.b;
    while (node != piece.a) {
      const Neighbour* best = nullptr;
      for (const Neighbour& next : m_near[node]) {
        const bool isNearer = next.node == piece.a ? m_hops[node] == 1 && node != piece.b
                                                   : m_isInPart[next.node] != 0 && m_hops[next.node] >= 0 &&
                                                         m_hops[next.node] == m_hops[node] - 1;
        if (!isNearer) {
          continue;
        }
        isOnly = isOnly && best == nullptr;
        const Edge& edge = m_edges[next.edge];
        if (best == nullptr ||
            Int128{edge.load} * m_edges[best->edge].capacity < Int128{m_edges[best->edge].load} * edge.capacity) {
          best = &next;
        }
      }
      if (best == nullptr) {
        throw Failure{{ErrorCode::internal, "a wire has no route"}};
      }
      piece.edges.push_back(best->edge);
      node = best->node;
      if (node != piece.a) {
        piece.relays.push_back(node);
      }
    }
    std::reverse(piece.relays.begin(), piece.relays.end());
    return isOnly;
  }

  /// Takes from wires what overloads a link, then hands out what is left, in equal amounts as far as it goes.
  void fit(std::vector<Piece>& pieces) {
    const bool isOverloaded =
        std::any_of(m_edges.begin(), m_edges.end(), [](const Edge& edge) { return edge.load > edge.capacity; });
    if (isOverloaded) {
      std::vector<int64_t> load(m_edges.size(), 0);
      for (Piece& piece : pieces) {
        int64_t trees = piece.trees;
        for (const int edge : piece.edges) {
          const Edge& link = m_edges[edge];
          if (link.load > link.capacity) {
            trees = std::min(trees, narrow64(Int128{piece.trees} * link.capacity / link.load));
          }
        }
        piece.trees = trees;
        for (const int edge : piece.edges) {
          load[edge] += trees;
        }
      }
      for (std::size_t i = 0; i < m_edges.size(); ++i) {
        m_edges[i].load = load[i];
      }
    }
    const auto roomOf = [&](const Piece& piece, auto&& share) {
      int64_t room = std::numeric_limits<int64_t>::max();
      for (const int edge : piece.edges) {
        room = std::min(room, share(edge));
      }
      return room;
    };
    const auto left = [&](int edge) { return m_edges[edge].capacity - m_edges[edge].load; };
    while (true) {
      throwIfCancelled(m_progress);
      std::vector<int64_t> users(m_edges.size(), 0);
      std::vector<Piece*> growing;
      for (Piece& piece : pieces) {
        if (roomOf(piece, left) > 0) {
          growing.push_back(&piece);
          for (const int edge : piece.edges) {
            ++users[edge];
          }
        }
      }
      if (growing.empty()) {
        return;
      }
      bool hasGrown = false;
      const auto grow = [&](Piece& piece, int64_t trees) {
        piece.trees += trees;
        for (const int edge : piece.edges) {
          m_edges[edge].load += trees;
        }
        hasGrown = hasGrown || trees > 0;
      };
      std::vector<int64_t> shares;
      for (const Piece* piece : growing) {
        shares.push_back(roomOf(*piece, [&](int edge) { return left(edge) / users[edge]; }));
      }
      for (std::size_t i = 0; i < growing.size(); ++i) {
        grow(*growing[i], shares[i]);
      }
      if (!hasGrown) {
        for (Piece* piece : growing) {
          grow(*piece, std::min<int64_t>(1, roomOf(*piece, left)));
        }
      }
    }
  }

  const Network& m_network;
  const Progress& m_progress;
  int m_maxPeers;
  WiringStyle m_style;
  DisjointSets m_clusters;
  std::deque<DisjointSets> m_before;  ///< each before a network joined clusters by wires
  std::vector<Edge> m_edges;
  std::vector<std::vector<Neighbour>> m_near;
  std::vector<int> m_budget;              ///< by GPU: peers that it may still get
  std::vector<int> m_networksLeft;        ///< by GPU: networks of switches not yet looked at
  std::vector<std::set<int>> m_isDirect;  ///< by GPU: peers by a link
  std::vector<char> m_isInPart;           ///< by node: a switch of the current network
  std::vector<int> m_hops;
  std::vector<int> m_reached;
  PeerWiring m_wiring;
};

}  // namespace

std::optional<PeerWiring> wirePeers(const Network& network, const std::vector<TreeArc>& capacities, int maxPeers,
                                    WiringStyle style, const Progress& progress) {
  return PeerWirer(network, capacities, maxPeers, style, progress).run();
}

}  // namespace coppice::forestcoll
