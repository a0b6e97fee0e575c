// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/switch_removal.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/splitting/exact_split.hpp"
#include "forestcoll/splitting/spread.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Oracle = flow::FeasibilityOracle<int64_t>;

/// The atoms between a switch and each of its neighbours, to be used up from the back.
class Stock {
public:
  void add(int neighbour, int atom) { m_entries.emplace_back(neighbour, atom); }
  void sort() {
    std::stable_sort(m_entries.begin(), m_entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
      if (i == 0 || m_entries[i].first != m_entries[i - 1].first) {
        m_neighbours.push_back(m_entries[i].first);
        m_begin.push_back(i);
        m_end.push_back(i);
      }
      ++m_end.back();
    }
  }
  [[nodiscard]] std::size_t find(int neighbour) const {
    const auto found = std::lower_bound(m_neighbours.begin(), m_neighbours.end(), neighbour);
    return found != m_neighbours.end() && *found == neighbour ? static_cast<std::size_t>(found - m_neighbours.begin())
                                                              : m_neighbours.size();
  }
  /// The last atom with capacity, or -1.
  int last(std::size_t slot, const std::vector<Atom>& atoms) {
    if (slot == m_neighbours.size()) {
      return -1;
    }
    while (m_end[slot] > m_begin[slot] && atoms[m_entries[m_end[slot] - 1].second].capacity == 0) {
      --m_end[slot];
    }
    return m_end[slot] > m_begin[slot] ? m_entries[m_end[slot] - 1].second : -1;
  }

private:
  std::vector<std::pair<int, int>> m_entries;
  std::vector<int> m_neighbours;
  std::vector<std::size_t> m_begin;
  std::vector<std::size_t> m_end;
};

class SwitchRemoval {
public:
  SwitchRemoval(const Network& network, const std::vector<TreeArc>& capacities, const std::vector<int64_t>& supply,
                const Progress& progress, const SplitOptions& options)
      : m_network(network), m_supply(supply), m_progress(progress), m_options(options) {
    for (const TreeArc& arc : capacities) {
      if (arc.capacity > 0) {
        m_atoms.push_back({arc.tail, arc.head, arc.capacity});
      }
    }
    m_remaining = 0;
    for (int v = 0; v < network.nodeCount; ++v) {
      m_remaining += network.isGpu[v] == 0 ? 1 : 0;
    }
    m_isGone.assign(network.nodeCount, 0);
    for (const int gpu : network.gpus) {
      m_grain = std::gcd(m_grain, options.roundToTreesPerRoot ? supply[gpu] : 1);
    }
  }

  LogicalTopology run() {
    const int switches = m_remaining;
    while (m_remaining > 0) {
      throwIfCancelled(m_progress);
      m_progress.report("splitting", 1.0 - static_cast<double>(m_remaining) / std::max(1, switches));
      indexAtoms();
      if (spliceDegreeTwo()) {
        continue;
      }
      removeRound();
    }
    m_progress.report("splitting", 1);
    return {std::move(m_atoms)};
  }

private:
  void indexAtoms() {
    m_inAtoms.assign(m_network.nodeCount, {});
    m_outAtoms.assign(m_network.nodeCount, {});
    for (std::size_t i = 0; i < m_atoms.size(); ++i) {
      const Atom& atom = m_atoms[i];
      if (atom.capacity > 0) {
        if (m_network.isGpu[atom.head] == 0) {
          m_inAtoms[atom.head].push_back(static_cast<int>(i));
        }
        if (m_network.isGpu[atom.tail] == 0) {
          m_outAtoms[atom.tail].push_back(static_cast<int>(i));
        }
      }
    }
  }

  [[nodiscard]] bool isSwitch(int node) const { return m_network.isGpu[node] == 0 && m_isGone[node] == 0; }

  /// Neighbours of a switch in node order, with merged capacities.
  [[nodiscard]] std::vector<Port> portsOf(int node) const {
    std::vector<Port> ports;
    for (const int atom : m_inAtoms[node]) {
      if (m_atoms[atom].capacity > 0) {
        ports.push_back({m_atoms[atom].tail, m_atoms[atom].capacity, 0});
      }
    }
    for (const int atom : m_outAtoms[node]) {
      if (m_atoms[atom].capacity > 0) {
        ports.push_back({m_atoms[atom].head, 0, m_atoms[atom].capacity});
      }
    }
    std::sort(ports.begin(), ports.end(), [](const Port& a, const Port& b) { return a.node < b.node; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < ports.size(); ++i) {
      if (ports[i].node == ports[last].node) {
        ports[last].in += ports[i].in;
        ports[last].out += ports[i].out;
      } else {
        ports[++last] = ports[i];
      }
    }
    if (!ports.empty()) {
      ports.resize(last + 1);
    }
    return ports;
  }

  /// Turns merged amounts into children of concrete atoms; loops (from == to) only use capacity up.
  void applyPairings(int node, const std::vector<Pairing>& pairings) {
    Stock in;
    Stock out;
    for (const int atom : m_inAtoms[node]) {
      in.add(m_atoms[atom].tail, atom);
    }
    for (const int atom : m_outAtoms[node]) {
      out.add(m_atoms[atom].head, atom);
    }
    in.sort();
    out.sort();
    for (const Pairing& pairing : pairings) {
      int64_t left = pairing.amount;
      const std::size_t sources = in.find(pairing.from);
      const std::size_t targets = out.find(pairing.to);
      while (left > 0) {
        const int first = in.last(sources, m_atoms);
        const int second = out.last(targets, m_atoms);
        if (first < 0 || second < 0) {
          throw Failure{{ErrorCode::internal, "switch removal paired more capacity than a switch has"}};
        }
        const int64_t amount = std::min({left, m_atoms[first].capacity, m_atoms[second].capacity});
        m_atoms[first].capacity -= amount;
        m_atoms[second].capacity -= amount;
        left -= amount;
        if (pairing.from != pairing.to) {
          const int child = static_cast<int>(m_atoms.size());
          m_atoms.push_back({pairing.from, pairing.to, amount, first, second});
          if (isSwitch(pairing.to)) {
            m_inAtoms[pairing.to].push_back(child);
          }
          if (isSwitch(pairing.from)) {
            m_outAtoms[pairing.from].push_back(child);
          }
        }
      }
    }
  }

  void retire(int node) {
    for (const int atom : m_inAtoms[node]) {
      m_atoms[atom].capacity = 0;
    }
    for (const int atom : m_outAtoms[node]) {
      m_atoms[atom].capacity = 0;
    }
    m_isGone[node] = 1;
    --m_remaining;
  }

  /// Switches with at most two neighbours need no check: whichever side of a cut the switch is on, the cut loses
  /// nothing.
  bool spliceDegreeTwo() {
    bool any = false;
    for (int node = 0; node < m_network.nodeCount; ++node) {
      if (!isSwitch(node)) {
        continue;
      }
      const std::vector<Port> ports = portsOf(node);
      if (ports.size() > 2) {
        continue;
      }
      if (ports.size() == 2) {
        std::vector<Pairing> pairings;
        const int64_t there = std::min(ports[0].in, ports[1].out);
        const int64_t back = std::min(ports[1].in, ports[0].out);
        if (there > 0) {
          pairings.push_back({ports[0].node, ports[1].node, there});
        }
        if (back > 0) {
          pairings.push_back({ports[1].node, ports[0].node, back});
        }
        applyPairings(node, pairings);
      }
      retire(node);
      any = true;
    }
    return any;
  }

  /// Live capacities, merged by the oracle.
  [[nodiscard]] std::vector<TreeArc> liveArcs() const {
    std::vector<TreeArc> arcs;
    arcs.reserve(m_atoms.size());
    for (const Atom& atom : m_atoms) {
      if (atom.capacity > 0) {
        arcs.push_back({atom.tail, atom.head, atom.capacity});
      }
    }
    return arcs;
  }

  Oracle makeOracle(const std::vector<TreeArc>& arcs) const {
    return {m_network.nodeCount, arcs, m_supply, m_network.gpus};
  }

  void remember(const std::vector<int>& nodes) {
    std::vector<char> in(m_network.nodeCount, 0);
    for (const int node : nodes) {
      in[node] = 1;
    }
    m_sets.push_back(std::move(in));
  }

  /// Tight sets around each sink: pairs inside one lose its last unit, so a guess must not use them.
  void findTightSets() {
    m_sets.clear();
    Oracle oracle = makeOracle(liveArcs());
    const std::vector<TreeArc> arcs = liveArcs();
    std::vector<std::vector<int>> near(m_network.nodeCount);
    for (const TreeArc& arc : arcs) {
      near[arc.tail].push_back(arc.head);
      near[arc.head].push_back(arc.tail);
    }
    std::vector<int> stamp(m_network.nodeCount, -1);
    for (const int sink : oracle.sinkOrder()) {
      throwIfCancelled(m_progress);
      const int64_t flow = oracle.flowInto(sink, oracle.target());
      if (flow < oracle.target()) {
        throw Failure{{ErrorCode::internal, "switch removal was given capacities that are not feasible"}};
      }
      std::vector<int> seeds{sink};
      bool isClosed = false;
      std::vector<int> set = oracle.reaching(seeds, isClosed);
      if (isClosed) {
        if (set.size() > 1) {
          remember(set);
        }
        // Grow leaf < pod < ... by the nearest GPUs outside; a few tries find the useful ones.
        std::vector<int> queue{sink};
        stamp[sink] = sink;
        int tries = 0;
        for (std::size_t i = 0; i < queue.size() && tries < 4 && i < 64; ++i) {
          for (const int next : near[queue[i]]) {
            if (stamp[next] == sink) {
              continue;
            }
            stamp[next] = sink;
            queue.push_back(next);
            if (m_network.isGpu[next] == 0 || std::binary_search(set.begin(), set.end(), next) || tries >= 4) {
              continue;
            }
            ++tries;
            seeds = set;
            seeds.push_back(next);
            std::vector<int> larger = oracle.reaching(seeds, isClosed);
            if (isClosed && larger.size() < static_cast<std::size_t>(m_network.nodeCount)) {
              remember(larger);
              set = std::move(larger);
            }
          }
        }
      }
      oracle.undo();
      oracle.absorb(sink);
    }
  }

  /// Ports grouped so that pairs within a group would cut into a known tight or violated set.
  [[nodiscard]] std::vector<std::vector<int>> classesOf(int node, const std::vector<Port>& ports,
                                                        const std::vector<int>& distance, bool groupFar) const {
    std::vector<int> group(ports.size(), -1);
    int groups = 0;
    int64_t total = 0;
    for (const Port& port : ports) {
      total += port.in + port.out;
    }
    struct Candidate {
      std::vector<int> members;
      int64_t weight = 0;
    };
    std::vector<Candidate> candidates;
    const auto consider = [&](auto&& isMember) {
      Candidate candidate;
      for (std::size_t i = 0; i < ports.size(); ++i) {
        if (isMember(ports[i].node)) {
          candidate.members.push_back(static_cast<int>(i));
          candidate.weight += ports[i].in + ports[i].out;
        }
      }
      if (candidate.members.size() >= 2 && 2 * candidate.weight <= total) {
        candidates.push_back(std::move(candidate));
      }
    };
    for (const std::vector<char>& set : m_sets) {
      const char side = set[node] == 0 ? 1 : 0;
      consider([&](int neighbour) { return set[neighbour] == side; });
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.members.size() > b.members.size(); });
    if (groupFar) {
      consider([&](int neighbour) { return distance[neighbour] > distance[node]; });
    }
    for (const Candidate& candidate : candidates) {
      const bool isFree = std::all_of(candidate.members.begin(), candidate.members.end(),
                                      [&](int member) { return group[member] < 0; });
      if (isFree) {
        for (const int member : candidate.members) {
          group[member] = groups;
        }
        ++groups;
      }
    }
    std::vector<std::vector<int>> classes(groups);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (group[i] >= 0) {
        classes[group[i]].push_back(static_cast<int>(i));
      } else {
        classes.push_back({static_cast<int>(i)});
      }
    }
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  /// A complete splitting of one balanced switch: even between classes, port by port within a block.
  [[nodiscard]] std::vector<Pairing> guess(int node, const std::vector<Port>& ports, const std::vector<int>& distance,
                                           bool groupFar, int64_t grain) const {
    const std::vector<std::vector<int>> classes = classesOf(node, ports, distance, groupFar);
    const int count = static_cast<int>(classes.size());
    std::vector<int64_t> rows(count, 0);
    std::vector<int64_t> columns(count, 0);
    for (int c = 0; c < count; ++c) {
      for (const int port : classes[c]) {
        rows[c] += ports[port].in;
        columns[c] += ports[port].out;
      }
    }
    Matrix between = spreadInGrains(rows, columns, grain);

    // outShare[j](port of class j, class i): what the port gets from class i.
    std::vector<Matrix> outShare;
    outShare.reserve(count);
    for (int j = 0; j < count; ++j) {
      std::vector<int64_t> capacities;
      std::vector<int64_t> blocks(count);
      for (const int port : classes[j]) {
        capacities.push_back(ports[port].out);
      }
      for (int i = 0; i < count; ++i) {
        blocks[i] = between(i, j);
      }
      outShare.push_back(dealToPorts(capacities, blocks));
    }
    std::vector<Pairing> pairings;
    for (int i = 0; i < count; ++i) {
      std::vector<int64_t> capacities;
      std::vector<int64_t> blocks(count);
      for (const int port : classes[i]) {
        capacities.push_back(ports[port].in);
      }
      for (int j = 0; j < count; ++j) {
        blocks[j] = between(i, j);
      }
      Matrix inShare = dealToPorts(capacities, blocks);
      for (int j = 0; j < count; ++j) {
        // Equal positions meet first, so equal ranks of two boxes are joined.
        int p = 0;
        int q = 0;
        int64_t have = inShare.rows > 0 ? inShare(0, j) : 0;
        int64_t want = outShare[j].rows > 0 ? outShare[j](0, i) : 0;
        while (p < inShare.rows && q < outShare[j].rows) {
          const int64_t amount = std::min(have, want);
          if (amount > 0) {
            pairings.push_back({ports[classes[i][p]].node, ports[classes[j][q]].node, amount});
          }
          have -= amount;
          want -= amount;
          if (have == 0 && ++p < inShare.rows) {
            have = inShare(p, j);
          }
          if (want == 0 && ++q < outShare[j].rows) {
            want = outShare[j](q, i);
          }
        }
      }
    }
    return pairings;
  }

  /// Capacities after the given complete splittings.
  [[nodiscard]] std::vector<TreeArc> arcsAfter(const std::vector<int>& nodes,
                                               const std::vector<std::vector<Pairing>>& pairings) const {
    std::vector<char> removed(m_network.nodeCount, 0);
    for (const int node : nodes) {
      removed[node] = 1;
    }
    std::vector<TreeArc> arcs;
    for (const Atom& atom : m_atoms) {
      if (atom.capacity > 0 && removed[atom.tail] == 0 && removed[atom.head] == 0) {
        arcs.push_back({atom.tail, atom.head, atom.capacity});
      }
    }
    for (const std::vector<Pairing>& list : pairings) {
      for (const Pairing& pairing : list) {
        if (pairing.from != pairing.to) {
          arcs.push_back({pairing.from, pairing.to, pairing.amount});
        }
      }
    }
    return arcs;
  }

  void removeRound() {
    const std::vector<int> distance = hopsFromGpus(m_network, liveArcs());
    std::vector<int> order;
    std::vector<std::size_t> degree(m_network.nodeCount, 0);
    for (int node = 0; node < m_network.nodeCount; ++node) {
      if (isSwitch(node)) {
        order.push_back(node);
        degree[node] = portsOf(node).size();
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(distance[a], degree[a]) < std::pair(distance[b], degree[b]);
    });
    std::vector<char> isBlocked(m_network.nodeCount, 0);
    std::vector<int> chosen;
    for (const int node : order) {
      if (isBlocked[node] != 0) {
        continue;
      }
      chosen.push_back(node);
      isBlocked[node] = 1;
      for (const Port& port : portsOf(node)) {
        isBlocked[port.node] = 1;
      }
      // GPUs never block each other.
      for (const int gpu : m_network.gpus) {
        isBlocked[gpu] = 0;
      }
    }
    findTightSets();
    removeTogether(chosen, distance, true);
  }

  /// A cut with what it can still lose under the present pairings; negative = violated by that much.
  struct WatchedCut {
    std::vector<char> inSet;
    int64_t slack = 0;
  };

  /// A pair through the switch costs a cut one unit per copy when both its ends lie on the side the switch is not on.
  static int lossOf(const WatchedCut& cut, int node, int from, int to) {
    const char side = cut.inSet[node];
    return cut.inSet[from] != side && cut.inSet[to] != side ? 1 : 0;
  }

  /// Exchanges the ends of two pairs where the first is lossy for a violated cut and the second lies on the other side,
  /// unless that pushes another watched cut below zero. True when no watched cut is violated.
  bool repair(const std::vector<int>& nodes, std::vector<std::vector<Pairing>>& pairings,
              std::vector<WatchedCut>& cuts) const {
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      throwIfCancelled(m_progress);
      for (std::size_t i = 0; i < nodes.size() && cuts[c].slack < 0; ++i) {
        const int node = nodes[i];
        std::vector<Pairing>& list = pairings[i];
        for (std::size_t p = 0; p < list.size() && cuts[c].slack < 0; ++p) {
          if (lossOf(cuts[c], node, list[p].from, list[p].to) == 0) {
            continue;
          }
          const std::size_t present = list.size();
          m_progress.spend(present);
          for (std::size_t q = 0; q < present && cuts[c].slack < 0 && list[p].amount > 0; ++q) {
            const Pairing first = list[p];
            const Pairing second = list[q];
            const char side = cuts[c].inSet[node];
            if (second.amount == 0 || cuts[c].inSet[second.from] != side || cuts[c].inSet[second.to] != side ||
                first.from == second.to || second.from == first.to) {
              continue;
            }
            const auto costOf = [&](const WatchedCut& cut) {
              return lossOf(cut, node, first.from, second.to) + lossOf(cut, node, second.from, first.to) -
                     lossOf(cut, node, first.from, first.to) - lossOf(cut, node, second.from, second.to);
            };
            int64_t amount = std::min({first.amount, second.amount, -cuts[c].slack});
            for (const WatchedCut& other : cuts) {
              const int cost = costOf(other);
              if (cost > 0) {
                amount = std::min(amount, std::max<int64_t>(0, other.slack / cost));
              }
              if (amount == 0) {
                break;
              }
            }
            if (amount == 0) {
              continue;
            }
            for (WatchedCut& other : cuts) {
              other.slack -= costOf(other) * amount;
            }
            list[p].amount -= amount;
            list[q].amount -= amount;
            list.push_back({first.from, second.to, amount});
            list.push_back({second.from, first.to, amount});
          }
        }
        std::erase_if(list, [](const Pairing& pairing) { return pairing.amount == 0; });
      }
      if (cuts[c].slack < 0) {
        return false;
      }
    }
    return std::all_of(cuts.begin(), cuts.end(), [](const WatchedCut& cut) { return cut.slack >= 0; });
  }

  void apply(const std::vector<int>& nodes, const std::vector<std::vector<Pairing>>& pairings) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      applyPairings(nodes[i], pairings[i]);
      retire(nodes[i]);
    }
  }

  [[nodiscard]] std::vector<std::vector<Pairing>> guessAll(const std::vector<int>& nodes,
                                                           const std::vector<int>& distance, bool groupFar,
                                                           int64_t grain) const {
    std::vector<std::vector<Pairing>> pairings;
    for (const int node : nodes) {
      pairings.push_back(guess(node, portsOf(node), distance, groupFar, grain));
    }
    return pairings;
  }

  /// Guesses again with the classes of the cuts that failed checks show. True when the switches are removed.
  bool removeByClasses(const std::vector<int>& nodes, const std::vector<int>& distance, bool groupFar) {
    constexpr int kTries = 4;
    for (int round = 0; round < kTries; ++round) {
      const std::vector<std::vector<Pairing>> pairings =
          guessAll(nodes, distance, groupFar && round == 0, round < 2 ? m_grain : 1);
      Oracle oracle = makeOracle(arcsAfter(nodes, pairings));
      const auto violated = oracle.violations(64, m_progress);
      if (violated.empty()) {
        apply(nodes, pairings);
        return true;
      }
      for (const auto& violation : violated) {
        remember(violation.nodes);
      }
    }
    return false;
  }

  /// Repairs one guess against the cuts that failed checks show. True when the switches are removed.
  bool removeByExchanges(const std::vector<int>& nodes, const std::vector<int>& distance, bool groupFar) {
    constexpr int kRepairs = 24;
    constexpr std::size_t kMaxCuts = 256;
    std::vector<std::vector<Pairing>> pairings = guessAll(nodes, distance, groupFar, 1);
    std::vector<WatchedCut> cuts;
    for (const std::vector<char>& set : m_sets) {
      if (cuts.size() >= kMaxCuts) {
        break;
      }
      cuts.push_back({set, 0});
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const Pairing& pairing : pairings[i]) {
          cuts.back().slack -= pairing.amount * lossOf(cuts.back(), nodes[i], pairing.from, pairing.to);
        }
      }
    }
    for (int round = 0; round < kRepairs; ++round) {
      if (round > 0 && !repair(nodes, pairings, cuts)) {
        return false;
      }
      Oracle oracle = makeOracle(arcsAfter(nodes, pairings));
      const auto violated = oracle.violations(64, m_progress);
      if (violated.empty()) {
        apply(nodes, pairings);
        return true;
      }
      for (const auto& violation : violated) {
        std::vector<char> inSet(m_network.nodeCount, 0);
        for (const int node : violation.nodes) {
          inSet[node] = 1;
        }
        const auto known =
            std::find_if(cuts.begin(), cuts.end(), [&](const WatchedCut& cut) { return cut.inSet == inSet; });
        if (known != cuts.end()) {
          known->slack = -violation.deficit;
        } else {
          cuts.push_back({std::move(inSet), -violation.deficit});
        }
      }
      if (cuts.size() > 2 * kMaxCuts) {
        return false;
      }
    }
    return false;
  }

  /// Removes an independent set of switches by verified guesses, halving the set when guesses keep failing.
  void removeTogether(const std::vector<int>& nodes, const std::vector<int>& distance, bool groupFar) {
    if (!m_options.pairwiseOnly) {
      // New classes keep a guess regular, which gives thick routes and few trees; exchanges repair what classes cannot.
      const std::size_t tight = m_sets.size();
      if (removeByClasses(nodes, distance, groupFar)) {
        return;
      }
      m_sets.resize(tight);  // cuts of failed guesses are not known to be tight
      if (removeByExchanges(nodes, distance, groupFar)) {
        return;
      }
      if (nodes.size() > 1) {
        const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
        removeTogether({nodes.begin(), middle}, distance, groupFar);
        removeTogether({middle, nodes.end()}, distance, groupFar);
        return;
      }
    }
    for (const int node : nodes) {
      removePairwise(node, distance);
    }
  }

  /// Removes one switch by the exact step, from what the guess gives or from nothing.
  void removePairwise(int node, const std::vector<int>& distance) {
    const std::vector<Port> ports = portsOf(node);
    const std::vector<Pairing> first =
        m_options.pairwiseOnly ? std::vector<Pairing>{} : guess(node, ports, distance, false, 1);
    applyPairings(node, splitExactly({m_network, m_supply, liveArcs(), node, ports}, first, m_progress));
    retire(node);
  }

  const Network& m_network;
  const std::vector<int64_t>& m_supply;
  const Progress& m_progress;
  const SplitOptions& m_options;
  std::vector<Atom> m_atoms;
  std::vector<char> m_isGone;
  int m_remaining = 0;
  int64_t m_grain = 0;                       // common divisor of the supplies
  std::vector<std::vector<int>> m_inAtoms;   // switches only
  std::vector<std::vector<int>> m_outAtoms;  // switches only
  std::vector<std::vector<char>> m_sets;     // known tight or violated sets, one flag per node
};

}  // namespace

LogicalTopology removeSwitches(const Network& network, const std::vector<TreeArc>& capacities,
                               const std::vector<int64_t>& supply, const Progress& progress,
                               const SplitOptions& options) {
  return SwitchRemoval(network, capacities, supply, progress, options).run();
}

const std::vector<int>& RouteReader::of(int atom) {
  m_nodes.assign(1, m_atoms[atom].tail);
  m_stack.assign(1, atom);
  while (!m_stack.empty()) {
    const Atom* current = &m_atoms[m_stack.back()];
    m_stack.pop_back();
    while (current->first >= 0) {
      m_stack.push_back(current->second);
      current = &m_atoms[current->first];
    }
    // A node seen before closes a detour: what lies between is dropped, which only frees capacity.
    std::size_t kept = 0;
    while (kept < m_nodes.size() && m_nodes[kept] != current->head) {
      ++kept;
    }
    m_nodes.resize(kept);
    m_nodes.push_back(current->head);
  }
  return m_nodes;
}

std::vector<int> route(const std::vector<Atom>& atoms, int atom) {
  return RouteReader(atoms).of(atom);
}

}  // namespace coppice::forestcoll
