// SPDX-License-Identifier: Apache-2.0
#include "nccl/in_network_load.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "base/failure.hpp"
#include "base/rows.hpp"
#include "fabric/gpu_boxes.hpp"
#include "nccl/joining.hpp"

namespace coppice::nccl {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;
using fabric::Rank;

/// Loads of links that add up.
class InNetwork {
public:
  explicit InNetwork(Ways& ways) : m_ways(ways), m_fabric(ways.fabric()), m_amounts(m_fabric.arcs().size()) {
    m_next.assign(static_cast<std::size_t>(m_fabric.nodeCount()), [&](const auto& add) {
      for (const fabric::Arc& arc : m_fabric.arcs()) {
        add(arc.tail, arc.head);
      }
    });
    m_boxes = fabric::gpuBoxes(m_fabric).ranks();
  }

  [[nodiscard]] const std::vector<std::vector<Rank>>& boxes() const { return m_boxes; }

  /// By box: which rank of the head it has. Throws Failure: badUsage.
  [[nodiscard]] std::vector<Rank> byBox(const HeadRanks& head) const {
    std::vector<Rank> ranks;
    for (const std::vector<Rank>& box : m_boxes) {
      const auto found = std::find_first_of(box.begin(), box.end(), head.ranks.begin(), head.ranks.end());
      if (found == box.end()) {
        throw Failure{{ErrorCode::badUsage, "a head of NVLS or CollNet is missing in a box of the fabric",
                       "give the fabric that was run on"}};
      }
      ranks.push_back(*found);
    }
    return ranks;
  }

  void alongWay(const std::vector<NodeIndex>& nodes, const Rational& amount) {
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      m_amounts[*m_fabric.findArc(nodes[i - 1], nodes[i])] += amount;
    }
  }

  void send(Rank from, Rank to, const Rational& amount) {
    alongWay(orThrow(m_ways.nodesOf({from, to, -1, -1})), amount);
  }
  /// Both ways.
  void exchange(Rank from, Rank to, const Rational& amount) {
    send(from, to, amount);
    send(to, from, amount);
  }

  /// Switches sum what the senders have to one receiver; a copy goes back from it to all of them.
  void sumAndCopy(const std::vector<NodeIndex>& all, NodeIndex head, const Rational& amount) {
    gather(all, amount, true);
    gather({head}, all, amount, false);
    gather({head}, all, amount, true);
    gather(all, amount, false);
  }
  /// Of an allgather: the switches copy what one end sends to all ends. Of a reduce-scatter: they sum what all ends
  /// send to one.
  void copyOrSum(const std::vector<NodeIndex>& all, NodeIndex one, const Rational& amount, bool isCopy) {
    gather({one}, all, amount, isCopy);
    gather(all, amount, !isCopy);
  }

  /// The network sums and copies between one GPU of each box, by their nearest NICs.
  void sharp(const std::vector<Rank>& ranks, int turn, const Rational& amount) {
    const std::vector<NodeIndex> nics = nicsOf(ranks, turn);
    for (std::size_t box = 0; box < nics.size(); ++box) {
      leg(ranks[box], nics[box], amount, true);
      leg(ranks[box], nics[box], amount, false);
    }
    gather(nics, amount, true);
    gather(nics, amount, false);
  }

  /// Of an allgather: the network copies what each of these GPUs sends to all of them. Of a reduce-scatter: it sums
  /// what all of them have for each.
  void sharpShards(const std::vector<Rank>& ranks, int turn, const Rational& shard, bool isCopy) {
    const std::vector<NodeIndex> nics = nicsOf(ranks, turn);
    const Rational rail = shard * Rational(static_cast<std::int64_t>(ranks.size()));
    for (std::size_t box = 0; box < nics.size(); ++box) {
      leg(ranks[box], nics[box], shard, isCopy);
      leg(ranks[box], nics[box], rail, !isCopy);
      copyOrSum(nics, nics[box], shard, isCopy);
    }
  }

  [[nodiscard]] std::vector<NodeIndex> nodesOf(const std::vector<Rank>& ranks) const {
    std::vector<NodeIndex> nodes;
    for (const Rank rank : ranks) {
      nodes.push_back(m_fabric.gpus()[rank]);
    }
    return nodes;
  }

  [[nodiscard]] Load load() const { return loadOf(m_fabric, m_amounts); }

private:
  /// Links from a node through switches and NICs, to or from each node; -1 = none.
  [[nodiscard]] std::vector<int> hopsFrom(NodeIndex start) const {
    std::vector<int> hops(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
    std::queue<NodeIndex> open;
    hops[start] = 0;
    open.push(start);
    while (!open.empty()) {
      const NodeIndex at = open.front();
      open.pop();
      if (at != start && m_fabric.nodes()[at].kind == NodeKind::gpu) {
        continue;
      }
      for (const NodeIndex next : m_next[at]) {
        if (hops[next] < 0) {
          hops[next] = hops[at] + 1;
          open.push(next);
        }
      }
    }
    return hops;
  }

  /// All ends stand in one box, and the switch does not.
  [[nodiscard]] bool isOutside(NodeIndex node, const std::vector<NodeIndex>& ends) const {
    const std::string& box = m_fabric.nodes()[ends.front()].box;
    return m_fabric.nodes()[node].box != box &&
           std::all_of(ends.begin(), ends.end(), [&](NodeIndex end) { return m_fabric.nodes()[end].box == box; });
  }

  /// The switches that reach all ends by the fewest links, of those in the box first; several share the data.
  const std::vector<NodeIndex>& rootsOf(const std::vector<NodeIndex>& ends) {
    auto& roots = m_roots[ends];
    if (!roots.empty()) {
      return roots;
    }
    std::vector<std::int64_t> sums(static_cast<std::size_t>(m_fabric.nodeCount()), 0);
    for (const NodeIndex end : ends) {
      const std::vector<int> hops = hopsFrom(end);
      for (std::size_t node = 0; node < hops.size(); ++node) {
        const bool isReached = hops[node] >= 0 && sums[node] >= 0;
        sums[node] = isReached ? sums[node] + hops[node] : -1;
      }
    }
    std::pair<bool, std::int64_t> least{true, std::numeric_limits<std::int64_t>::max()};
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      const std::pair<bool, std::int64_t> place{isOutside(node, ends), sums[node]};
      if (m_fabric.nodes()[node].kind == NodeKind::switchNode && sums[node] >= 0 && place <= least) {
        if (place < least) {
          roots.clear();
        }
        least = place;
        roots.push_back(node);
      }
    }
    if (roots.empty()) {
      throw Failure{{ErrorCode::infeasible, "no switch joins the GPUs that NVLS or CollNet sums",
                     "compare the fabric with the machine"}};
    }
    return roots;
  }

  void gather(const std::vector<NodeIndex>& ends, const Rational& amount, bool isUp) {
    gather(ends, ends, amount, isUp);
  }

  /// Each link between these ends and a root of all ends carries the amount once.
  void gather(const std::vector<NodeIndex>& ends, const std::vector<NodeIndex>& all, const Rational& amount,
              bool isUp) {
    const std::vector<NodeIndex>& roots = rootsOf(all);
    const Rational part = amount / Rational(static_cast<std::int64_t>(roots.size()));
    for (const NodeIndex root : roots) {
      std::set<int> arcs;
      for (const NodeIndex end : ends) {
        const std::vector<NodeIndex> nodes = orThrow(isUp ? m_ways.leg(end, root) : m_ways.leg(root, end));
        for (std::size_t i = 1; i < nodes.size(); ++i) {
          arcs.insert(*m_fabric.findArc(nodes[i - 1], nodes[i]));
        }
      }
      for (const int arc : arcs) {
        m_amounts[arc] += part;
      }
    }
  }

  [[nodiscard]] std::vector<NodeIndex> nicsOf(const std::vector<Rank>& ranks, int turn) const {
    std::vector<NodeIndex> nics;
    for (const Rank rank : ranks) {
      nics.push_back(nearestNic(rank, turn));
    }
    return nics;
  }

  void leg(Rank rank, NodeIndex nic, const Rational& amount, bool isUp) {
    const NodeIndex gpu = m_fabric.gpus()[rank];
    alongWay(orThrow(isUp ? m_ways.leg(gpu, nic) : m_ways.leg(nic, gpu)), amount);
  }

  [[nodiscard]] NodeIndex nearestNic(Rank rank, int turn) const {
    const std::vector<int> hops = hopsFrom(m_fabric.gpus()[rank]);
    std::vector<NodeIndex> nearest;
    for (const NodeIndex nic : m_ways.nicsOf(rank)) {
      if (hops[nic] < 0 || (!nearest.empty() && hops[nic] > hops[nearest.front()])) {
        continue;
      }
      if (!nearest.empty() && hops[nic] < hops[nearest.front()]) {
        nearest.clear();
      }
      nearest.push_back(nic);
    }
    if (nearest.empty()) {
      throw Failure{{ErrorCode::infeasible, "no NIC is reached from a head of NVLS or CollNet",
                     "compare the fabric with the machine"}};
    }
    return nearest[static_cast<std::size_t>(turn) % nearest.size()];
  }

  Ways& m_ways;
  const fabric::Fabric& m_fabric;
  std::vector<Rational> m_amounts;
  Rows<NodeIndex> m_next;
  std::vector<std::vector<Rank>> m_boxes;
  std::map<std::vector<NodeIndex>, std::vector<NodeIndex>> m_roots;
};

Rational partOf(std::size_t count) {
  if (count == 0) {
    throw Failure{{ErrorCode::badUsage, "no heads of NVLS or CollNet are known", "give a log with INIT and GRAPH"}};
  }
  return Rational(1, static_cast<std::int64_t>(count));
}

void addNvls(InNetwork& network, const std::vector<std::vector<Rank>>& heads, const Rational& part) {
  for (const std::vector<Rank>& head : heads) {
    for (std::size_t box = 0; box < head.size(); ++box) {
      const std::vector<NodeIndex> all = network.nodesOf(network.boxes()[box]);
      network.sumAndCopy(all, network.nodesOf({head[box]}).front(), part);
    }
  }
}

std::vector<std::vector<Rank>> headsByBox(const InNetwork& network, const std::vector<HeadRanks>& heads) {
  std::vector<std::vector<Rank>> all;
  for (const HeadRanks& head : heads) {
    all.push_back(network.byBox(head));
  }
  return all;
}

/// Heads of an allgather or reduce-scatter over several boxes have a shard each, so that every GPU must be one.
/// Returns the share of the data that a GPU has. Throws Failure: badUsage.
Rational shardOf(const InNetwork& network, const std::vector<std::vector<Rank>>& heads, Collective collective) {
  if (collective != Collective::allgather && collective != Collective::reduceScatter) {
    throw Failure{{ErrorCode::badUsage, "NVLS and CollNet do not make this collective",
                   "ask for allreduce, allgather, or reduce_scatter"}};
  }
  std::size_t gpus = 0;
  for (const std::vector<Rank>& box : network.boxes()) {
    gpus += box.size();
    if (network.boxes().size() > 1 && box.size() != heads.size()) {
      throw Failure{{ErrorCode::badUsage,
                     "between boxes, NVLS and CollNet need every GPU as a head for this collective",
                     "ask for allreduce"}};
    }
  }
  return Rational(1, static_cast<std::int64_t>(gpus));
}

/// Each head has the shards of its number of all boxes.
void addShards(InNetwork& network, const std::vector<std::vector<Rank>>& heads, const Rational& shard, bool isCopy) {
  for (std::size_t head = 0; head < heads.size() && network.boxes().size() > 1; ++head) {
    network.sharpShards(heads[head], static_cast<int>(head), shard, isCopy);
  }
}

}  // namespace

Result<Load> nvlsLoad(Ways& ways, const std::vector<HeadRanks>& heads, Collective collective) {
  return guarded([&]() -> Result<Load> {
    InNetwork network(ways);
    const Rational part = partOf(heads.size());
    const auto all = headsByBox(network, heads);
    if (collective == Collective::allreduce) {
      addNvls(network, all, part);
      for (std::size_t head = 0; head < all.size() && network.boxes().size() > 1; ++head) {
        network.sharp(all[head], static_cast<int>(head), part);
      }
      return network.load();
    }
    const bool isCopy = collective == Collective::allgather;
    const Rational shard = shardOf(network, all, collective);
    const Rational rail = shard * Rational(static_cast<std::int64_t>(network.boxes().size()));
    for (const std::vector<Rank>& box : network.boxes()) {
      const std::vector<NodeIndex> gpus = network.nodesOf(box);
      for (const NodeIndex gpu : gpus) {
        network.copyOrSum(gpus, gpu, rail, isCopy);
      }
    }
    addShards(network, all, shard, isCopy);
    return network.load();
  });
}

Result<Load> nvlsTreeLoad(Ways& ways, const std::vector<HeadRanks>& heads) {
  return guarded([&]() -> Result<Load> {
    InNetwork network(ways);
    const Rational part = partOf(heads.size());
    const auto all = headsByBox(network, heads);
    addNvls(network, all, part);
    const auto count = static_cast<int>(network.boxes().size());
    for (const std::vector<Rank>& head : all) {
      for (int node = 0; node < count; ++node) {
        for (const DoubleTreePlace& place : doubleTreePlace(count, node)) {
          if (place.up >= 0) {
            network.exchange(head[node], head[place.up], part / Rational(2));
          }
        }
      }
    }
    return network.load();
  });
}

Result<Load> collnetDirectLoad(Ways& ways, const std::vector<HeadRanks>& heads, Collective collective) {
  return guarded([&]() -> Result<Load> {
    InNetwork network(ways);
    const Rational part = partOf(heads.size());
    const auto all = headsByBox(network, heads);
    const bool isAllreduce = collective == Collective::allreduce;
    const bool isCopy = collective == Collective::allgather;
    const Rational shard = isAllreduce ? Rational(0) : shardOf(network, all, collective);
    for (std::size_t head = 0; head < all.size(); ++head) {
      for (std::size_t box = 0; box < network.boxes().size(); ++box) {
        const Rank at = all[head][box];
        for (const Rank rank : network.boxes()[box]) {
          if (rank == at) {
            continue;
          }
          if (isAllreduce) {
            network.exchange(rank, at, part);
          } else {
            network.send(isCopy ? at : rank, isCopy ? rank : at, part);
          }
        }
      }
      if (isAllreduce) {
        network.sharp(all[head], static_cast<int>(head), part);
      }
    }
    addShards(network, all, shard, isCopy);
    return network.load();
  });
}

Result<Load> collnetChainLoad(Ways& ways, const std::vector<Tree>& chains) {
  return guarded([&]() -> Result<Load> {
    InNetwork network(ways);
    const Rational part = partOf(chains.size());
    for (std::size_t channel = 0; channel < chains.size(); ++channel) {
      HeadRanks head;
      for (std::size_t rank = 0; rank < chains[channel].parents.size(); ++rank) {
        const int up = chains[channel].parents[rank];
        if (up < 0) {
          head.ranks.push_back(static_cast<int>(rank));
        } else {
          network.exchange(static_cast<Rank>(rank), up, part);
        }
      }
      network.sharp(network.byBox(head), static_cast<int>(channel), part);
    }
    return network.load();
  });
}

}  // namespace coppice::nccl
