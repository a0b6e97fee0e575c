// SPDX-License-Identifier: Apache-2.0
#include "nccl/load.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::nccl {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

void addLoad(Ways& ways, const Hop& hop, bool isBackward, const Rational& amount, std::vector<Rational>& amounts) {
  const std::vector<NodeIndex> nodes =
      orThrow(ways.nodesOf(isBackward ? Hop{hop.to, hop.from, hop.receiveNet, hop.sendNet} : hop));
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    amounts[*ways.fabric().findArc(nodes[i - 1], nodes[i])] += amount;
  }
}

}  // namespace

Load loadOf(const fabric::Fabric& fabric, const std::vector<Rational>& amounts) {
  Load load;
  load.time.resize(amounts.size());
  for (std::size_t arc = 0; arc < amounts.size(); ++arc) {
    load.time[arc] = amounts[arc] / fabric.arcs()[arc].bandwidth;
    if (amounts[arc].isPositive() && (load.arc < 0 || load.time[arc] > load.time[load.arc])) {
      load.arc = static_cast<int>(arc);
    }
  }
  if (load.arc >= 0) {
    load.algbw = Rational(1) / load.time[load.arc];
  }
  return load;
}

Ways::Ways(const fabric::Fabric& fabric)
    : m_fabric(fabric), m_out(static_cast<std::size_t>(fabric.nodeCount())), m_uses(fabric.arcs().size(), 0) {
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (fabric.nodes()[node].kind == NodeKind::nic) {
      m_nics[fabric.nodes()[node].box].push_back(node);
    }
  }
  // Without NICs, the GPUs themselves are where a box is left.
  std::map<std::string, std::vector<NodeIndex>> gpus;
  for (const NodeIndex gpu : fabric.gpus()) {
    gpus[fabric.nodes()[gpu].box].push_back(gpu);
  }
  for (auto& [box, list] : gpus) {
    m_nics.try_emplace(box, std::move(list));
  }
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    m_out[fabric.arcs()[arc].tail].emplace_back(fabric.arcs()[arc].head, static_cast<int>(arc));
  }
}

const std::vector<NodeIndex>& Ways::nicsOf(fabric::Rank rank) const {
  static const std::vector<NodeIndex> kNone;
  const auto found = m_nics.find(m_fabric.nodes()[m_fabric.gpus()[rank]].box);
  return found == m_nics.end() ? kNone : found->second;
}

/// Fewest links first, then fewest uses of the links so far for their bandwidth.
std::vector<NodeIndex> Ways::between(NodeIndex from, NodeIndex to, bool mayPassGpus) const {
  using Cost = std::pair<int, double>;
  std::vector<Cost> best(m_out.size(), {1 << 30, 0});
  std::vector<std::pair<NodeIndex, int>> before(m_out.size(), {-1, -1});
  using Entry = std::tuple<int, double, NodeIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  best[from] = {0, 0};
  queue.emplace(0, 0.0, from);
  while (!queue.empty()) {
    const auto [hops, use, node] = queue.top();
    queue.pop();
    if (std::pair(hops, use) > best[node]) {
      continue;
    }
    if (node == to) {
      break;
    }
    if (node != from && !mayPassGpus && m_fabric.nodes()[node].kind == NodeKind::gpu) {
      continue;
    }
    for (const auto& [next, arc] : m_out[node]) {
      // A GPU on the way costs as much as several links: PXN is the last resort.
      const bool isGpu = m_fabric.nodes()[next].kind == NodeKind::gpu && next != to;
      const Cost cost{hops + (isGpu ? 16 : 1), use + (m_uses[arc] + 1) / toGBps(m_fabric.arcs()[arc].bandwidth)};
      if ((!isGpu || mayPassGpus) && cost < best[next]) {
        best[next] = cost;
        before[next] = {node, arc};
        queue.emplace(cost.first, cost.second, next);
      }
    }
  }
  std::vector<NodeIndex> nodes;
  if (before[to].first < 0) {
    return nodes;
  }
  for (NodeIndex node = to; node != from; node = before[node].first) {
    nodes.push_back(node);
    ++m_uses[before[node].second];
  }
  nodes.push_back(from);
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Result<std::vector<NodeIndex>> Ways::leg(NodeIndex from, NodeIndex to) const {
  if (from == to) {
    return std::vector<NodeIndex>{from};
  }
  std::vector<NodeIndex> nodes = between(from, to, false);
  if (nodes.empty()) {
    nodes = between(from, to, true);
  }
  if (nodes.empty()) {
    const auto name = [&](NodeIndex node) { return inQuotes(m_fabric.nodes()[node].id); };
    return Error{ErrorCode::infeasible, "no way leads from " + name(from) + " to " + name(to),
                 "compare the fabric with the machine"};
  }
  return nodes;
}

Result<std::vector<NodeIndex>> Ways::nodesOf(const Hop& hop) {
  const Key key{{hop.from, hop.to}, {hop.sendNet, hop.receiveNet}};
  if (const auto found = m_ways.find(key); found != m_ways.end()) {
    return found->second;
  }
  const NodeIndex from = m_fabric.gpus()[hop.from];
  const NodeIndex to = m_fabric.gpus()[hop.to];
  std::vector<NodeIndex> stops{from};
  const auto& sendNics = nicsOf(hop.from);
  const auto& receiveNics = nicsOf(hop.to);
  if (m_fabric.nodes()[from].box != m_fabric.nodes()[to].box) {
    if (hop.sendNet >= 0 && hop.sendNet < static_cast<int>(sendNics.size())) {
      stops.push_back(sendNics[hop.sendNet]);
    }
    if (hop.receiveNet >= 0 && hop.receiveNet < static_cast<int>(receiveNics.size())) {
      stops.push_back(receiveNics[hop.receiveNet]);
    }
  }
  stops.push_back(to);
  std::vector<NodeIndex> nodes{from};
  for (std::size_t i = 1; i < stops.size(); ++i) {
    const auto found = leg(stops[i - 1], stops[i]);
    if (!found) {
      return found.error();
    }
    nodes.insert(nodes.end(), found->begin() + 1, found->end());
  }
  return m_ways.emplace(key, std::move(nodes)).first->second;
}

bool passesGpu(const fabric::Fabric& fabric, const std::vector<NodeIndex>& nodes) {
  return std::any_of(nodes.begin() + 1, nodes.end() - 1,
                     [&](NodeIndex node) { return fabric.nodes()[node].kind == NodeKind::gpu; });
}

Result<Load> ringLoad(Ways& ways, const std::vector<Ring>& rings, Collective collective) {
  return guarded([&]() -> Result<Load> {
    const int n = ways.fabric().gpuCount();
    if (rings.empty()) {
      return Error{ErrorCode::badUsage, "there is no ring", "give a run whose rings are known"};
    }
    Rational perHop = Rational(1, static_cast<std::int64_t>(rings.size()));
    switch (collective) {
      case Collective::allreduce:
        perHop *= Rational(2 * (n - 1), n);
        break;
      case Collective::allgather:
      case Collective::reduceScatter:
        perHop *= Rational(n - 1, n);
        break;
      case Collective::broadcast:
      case Collective::reduce:
        break;
      default:
        return Error{ErrorCode::badUsage, "NCCL's rings do not make " + std::string(toString(collective)),
                     "ask for allreduce, allgather, reduce_scatter, broadcast or reduce"};
    }
    std::vector<Rational> amounts(ways.fabric().arcs().size());
    const bool isRooted = collective == Collective::broadcast || collective == Collective::reduce;
    for (const Ring& ring : rings) {
      if (static_cast<int>(ring.hops.size()) != n) {
        return Error{
            ErrorCode::badUsage,
            "a ring has " + std::to_string(ring.hops.size()) + " ranks, the fabric " + std::to_string(n) + " GPUs",
            "give the fabric that was run on"};
      }
      // Rank 0 is the root: nothing goes on to it, or comes from it.
      for (std::size_t i = 0; i < ring.hops.size(); ++i) {
        if (!isRooted || ring.hops[i].to != 0 || collective == Collective::reduce) {
          if (collective != Collective::reduce || ring.hops[i].from != 0) {
            addLoad(ways, ring.hops[i], false, perHop, amounts);
          }
        }
      }
    }
    return loadOf(ways.fabric(), amounts);
  });
}

Result<Load> treeLoad(Ways& ways, const std::vector<Tree>& trees) {
  return guarded([&]() -> Result<Load> {
    if (trees.empty()) {
      return Error{ErrorCode::badUsage, "there is no tree", "give a run whose trees are known"};
    }
    const Rational part(1, static_cast<std::int64_t>(trees.size()));
    std::vector<Rational> amounts(ways.fabric().arcs().size());
    for (const Tree& tree : trees) {
      if (static_cast<int>(tree.parents.size()) != ways.fabric().gpuCount()) {
        return Error{ErrorCode::badUsage, "a tree has another number of ranks than the fabric has GPUs",
                     "give the fabric that was run on"};
      }
      for (std::size_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] >= 0) {
          addLoad(ways, tree.up[rank], false, part, amounts);
          addLoad(ways, tree.up[rank], true, part, amounts);
        }
      }
    }
    return loadOf(ways.fabric(), amounts);
  });
}

}  // namespace coppice::nccl
