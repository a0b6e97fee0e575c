// SPDX-License-Identifier: Apache-2.0
#include "nccl/load.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::nccl {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;

/// A GPU on the way costs as much as several links: PXN is the last resort.
constexpr int kPerGpu = 16;

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

Ways::Ways(const fabric::Fabric& fabric, Progress progress)
    : m_fabric(fabric),
      m_progress(std::move(progress)),
      m_out(static_cast<std::size_t>(fabric.nodeCount())),
      m_uses(fabric.arcs().size(), 0),
      m_relaysInto(m_out.size()),
      m_visits(m_out.size()) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    m_rates.push_back(toGBps(arc.bandwidth));
  }
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
    const NodeIndex tail = fabric.arcs()[arc].tail;
    const NodeIndex head = fabric.arcs()[arc].head;
    m_out[tail].emplace_back(head, static_cast<int>(arc));
    if (fabric.nodes()[tail].kind != NodeKind::gpu) {
      m_relaysInto[head].push_back(tail);
    }
  }
  findParts();
}

void Ways::findParts() {
  const auto isGpu = [this](NodeIndex node) { return m_fabric.nodes()[node].kind == NodeKind::gpu; };
  std::vector<std::vector<NodeIndex>> beside(m_out.size());
  for (const fabric::Arc& arc : m_fabric.arcs()) {
    beside[arc.tail].push_back(arc.head);
    beside[arc.head].push_back(arc.tail);
  }
  std::vector<int> partOf(m_out.size(), -1);
  int count = 0;
  for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
    if (isGpu(node) || partOf[node] >= 0) {
      continue;
    }
    std::vector<NodeIndex> open{node};
    partOf[node] = count++;
    while (!open.empty()) {
      const NodeIndex at = open.back();
      open.pop_back();
      for (const NodeIndex next : beside[at]) {
        if (!isGpu(next) && partOf[next] < 0) {
          partOf[next] = partOf[at];
          open.push_back(next);
        }
      }
    }
  }
  m_parts.resize(m_out.size());
  for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
    for (const NodeIndex next : isGpu(node) ? beside[node] : std::vector<NodeIndex>{node}) {
      if (partOf[next] >= 0) {
        m_parts[node].push_back(partOf[next]);
      }
    }
    std::sort(m_parts[node].begin(), m_parts[node].end());
  }
}

bool Ways::sharePart(NodeIndex a, NodeIndex b) const {
  const std::vector<int>& parts = m_parts[a];
  return std::any_of(m_parts[b].begin(), m_parts[b].end(),
                     [&](int part) { return std::binary_search(parts.begin(), parts.end(), part); });
}

const std::vector<NodeIndex>& Ways::nicsOf(fabric::Rank rank) const {
  static const std::vector<NodeIndex> kNone;
  const auto found = m_nics.find(m_fabric.nodes()[m_fabric.gpus()[rank]].box);
  return found == m_nics.end() ? kNone : found->second;
}

/// Fewest links first, then fewest uses of the links so far for their bandwidth.
std::vector<NodeIndex> Ways::between(NodeIndex from, NodeIndex to, bool mayPassGpus) const {
  ++m_search;
  const auto visit = [this](NodeIndex node) -> Visit& {
    Visit& found = m_visits[node];
    if (found.search != m_search) {
      found = {.search = m_search};
    }
    return found;
  };
  // Links that are left at least (A*): on large fabrics all of a plane is nearer than another GPU's NIC.
  const auto isGpu = [this](NodeIndex node) { return m_fabric.nodes()[node].kind == NodeKind::gpu; };
  const auto left = [&](NodeIndex node) {
    return node == to ? 0 : isGpu(node) || sharePart(node, to) ? 1 : kPerGpu + 1;
  };
  using Entry = std::tuple<int, double, NodeIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  visit(from).cost = {0, 0};
  queue.emplace(left(from), 0.0, from);
  while (!queue.empty()) {
    const auto [least, use, node] = queue.top();
    queue.pop();
    const int hops = least - left(node);
    if (std::pair(hops, use) > visit(node).cost) {
      continue;
    }
    if (node == to) {
      break;
    }
    if (node != from && !mayPassGpus && isGpu(node)) {
      continue;
    }
    const auto relax = [&, use = use, node = node](NodeIndex next, int arc) {
      const bool isPassed = next != to && isGpu(next);
      const std::pair cost(hops + (isPassed ? kPerGpu : 1), use + (m_uses[arc] + 1) / m_rates[arc]);
      if ((!isPassed || mayPassGpus) && cost < visit(next).cost) {
        visit(next) = {m_search, cost, node, arc};
        queue.emplace(cost.first + left(next), cost.second, next);
      }
    };
    // Where one or two links lead there, all else takes more: switches with thousands of links are not gone through.
    if (const auto last = m_fabric.findArc(node, to)) {
      relax(to, *last);
      continue;
    }
    bool isNear = false;
    for (const NodeIndex relay : m_relaysInto[to]) {
      if (const auto arc = m_fabric.findArc(node, relay)) {
        relax(relay, *arc);
        isNear = true;
      }
    }
    for (const auto& [next, arc] : isNear ? std::vector<std::pair<NodeIndex, int>>() : m_out[node]) {
      relax(next, arc);
    }
  }
  std::vector<NodeIndex> nodes;
  if (visit(to).before < 0) {
    return nodes;
  }
  for (NodeIndex node = to; node != from; node = m_visits[node].before) {
    nodes.push_back(node);
    ++m_uses[m_visits[node].arc];
  }
  nodes.push_back(from);
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Result<std::vector<NodeIndex>> Ways::leg(NodeIndex from, NodeIndex to) const {
  if (from == to) {
    return std::vector<NodeIndex>{from};
  }
  if (m_progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
  std::vector<NodeIndex> nodes =
      m_fabric.findArc(from, to) || sharePart(from, to) ? between(from, to, false) : std::vector<NodeIndex>();
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
