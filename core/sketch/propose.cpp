// SPDX-License-Identifier: Apache-2.0
#include "sketch/propose.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"

namespace coppice::sketch {
namespace {

using fabric::NodeIndex;
using Route = std::vector<NodeIndex>;

/// Routes between GPUs that pass no other GPU: of those with the fewest links, the widest, and of these the one that
/// the fewest other routes share. (Between GPUs that a PCIe switch and an NVSwitch join, it is that over the NVSwitch.)
class WideRoutes {
public:
  explicit WideRoutes(const fabric::Fabric& fabric)
      : m_fabric(fabric),
        m_out(fabric.nodeCount()),
        m_in(fabric.nodeCount()),
        m_use(fabric.arcs().size()),
        m_passed(fabric.nodeCount()) {
    for (std::size_t i = 0; i < fabric.arcs().size(); ++i) {
      m_out[fabric.arcs()[i].tail].push_back(static_cast<int>(i));
      m_in[fabric.arcs()[i].head].push_back(static_cast<int>(i));
      m_rate.push_back(fabric.arcs()[i].bandwidth.gigabytesPerSecond());
    }
  }

  /// Both ends included; empty where only other GPUs join them.
  Route between(NodeIndex from, NodeIndex to) {
    if (m_measured != from) {
      measure(from);
    }
    if (m_hops[to] < 0) {
      return {};
    }
    Route nodes = {to};
    while (nodes.back() != from) {
      const NodeIndex node = nodes.back();
      int best = -1;
      for (const int id : m_in[node]) {
        const NodeIndex tail = m_fabric.arcs()[id].tail;
        const bool isOnRoute = relays(tail, from) && m_hops[tail] >= 0 && m_hops[tail] + 1 == m_hops[node] &&
                               std::min(m_width[tail], m_rate[id]) >= m_width[to];
        if (isOnRoute && (best < 0 || isFreer(id, best))) {
          best = id;
        }
      }
      ++m_use[best];
      ++m_passed[m_fabric.arcs()[best].tail];
      nodes.push_back(m_fabric.arcs()[best].tail);
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

private:
  /// Fewer routes share the arc for its width; where that is equal, its tail. (GPUs that reach two NICs alike, each by
  /// a link of its own, are dealt out to both.)
  [[nodiscard]] bool isFreer(int arc, int than) const {
    const Rational own = Rational(m_use[arc] + 1) * m_rate[than];
    const Rational other = Rational(m_use[than] + 1) * m_rate[arc];
    return own != other ? own < other : m_passed[m_fabric.arcs()[arc].tail] < m_passed[m_fabric.arcs()[than].tail];
  }

  [[nodiscard]] bool relays(NodeIndex node, NodeIndex from) const {
    return node == from || m_fabric.nodes()[node].kind != fabric::NodeKind::gpu;
  }

  void measure(NodeIndex from) {
    m_measured = from;
    m_hops.assign(m_out.size(), -1);
    m_width.assign(m_out.size(), Rational(0));
    m_hops[from] = 0;
    std::vector<NodeIndex> queue = {from};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const NodeIndex node = queue[at];
      if (!relays(node, from)) {
        continue;
      }
      for (const int id : m_out[node]) {
        const NodeIndex next = m_fabric.arcs()[id].head;
        if (m_hops[next] < 0) {
          m_hops[next] = m_hops[node] + 1;
          queue.push_back(next);
        }
        if (m_hops[next] == m_hops[node] + 1) {
          const Rational width = node == from ? m_rate[id] : std::min(m_width[node], m_rate[id]);
          m_width[next] = std::max(m_width[next], width);
        }
      }
    }
    // No route is narrower at its start than its first link.
    m_width[from] = *std::max_element(m_rate.begin(), m_rate.end());
  }

  const fabric::Fabric& m_fabric;
  std::vector<std::vector<int>> m_out;  ///< by node: arcs
  std::vector<std::vector<int>> m_in;   ///< by node: arcs
  std::vector<Rational> m_rate;         ///< by arc
  std::vector<int> m_use;               ///< by arc: routes that pass it
  std::vector<int> m_passed;            ///< by node: routes that pass it
  NodeIndex m_measured = -1;            ///< the node that the others are measured from
  std::vector<int> m_hops;              ///< by node; -1 = not reached
  std::vector<Rational> m_width;        ///< by node
};

class Proposer {
public:
  Proposer(const fabric::Fabric& fabric, const ProposalOptions& options)
      : m_fabric(fabric), m_options(options), m_finder(fabric) {}

  Proposal make() {
    findNodes();
    m_proposal.sketch.nodes = m_nodes;
    m_proposal.sketch.chunksPerGpu = m_options.chunksPerGpu;
    m_proposal.topology.name = m_fabric.name().empty() ? "fabric" : m_fabric.name();
    m_proposal.topology.gpusPerNode = m_perNode;
    addLocalLinks();
    if (m_nodes > 1) {
      addRemoteLinks();
    }
    join(m_nodes);
    m_proposal.sketch.symmetryOffsets = symmetricOffsets(m_proposal.model);
    m_proposal.model.offsets = m_proposal.sketch.symmetryOffsets;
    return std::move(m_proposal);
  }

  Proposal fit(const Sketch& sketch) {
    findNodes();
    const auto refuse = [](std::string message, std::string fix) {
      throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix), {.element = {RefKind::key, "nnodes"}}}};
    };
    if (sketch.nodes && *sketch.nodes != m_nodes) {
      refuse("the sketch has " + std::to_string(*sketch.nodes) + " nodes, the fabric has " + std::to_string(m_nodes) +
                 (m_nodes == 1 ? " (no equal boxes)" : " equal boxes"),
             "set nnodes to " + std::to_string(m_nodes) + ", or draw the fabric of the sketch");
    }
    m_proposal.topology.name = m_fabric.name().empty() ? "fabric" : m_fabric.name();
    m_proposal.topology.gpusPerNode = m_perNode;
    addLocalLinks();
    m_proposal.sketch = sketch;
    if (m_nodes > 1) {
      addRemoteCosts(connectionsOf(sketch));
      m_proposal.topology.nicsPerNode = std::max(1, static_cast<int>(nicGroups().size()));
    }
    join(m_nodes);
    return std::move(m_proposal);
  }

private:
  /// Model and routes of the sketch on the topology.
  void join(int nodes) {
    ModelOptions options;
    options.truncates = false;
    options.type = MachineType::custom;
    options.nodes = nodes;
    auto made = orThrow(makeModel(m_proposal.sketch, m_proposal.topology, options));
    m_proposal.model = std::move(made.model);
    for (const Link& link : m_proposal.model.links) {
      m_proposal.routes.push_back(routeOf(link.from, link.to));
    }
  }

  [[nodiscard]] NodeIndex gpu(int rank) const { return m_fabric.gpus()[rank]; }
  [[nodiscard]] const std::string& boxOf(NodeIndex node) const { return m_fabric.nodes()[node].box; }

  const Route& routeOf(int from, int to) {
    const auto [at, isNew] = m_routes.try_emplace({from, to});
    if (isNew) {
      at->second = m_finder.between(gpu(from), gpu(to));
    }
    return at->second;
  }

  /// Boxes of equal numbers of GPUs that follow each other by rank; otherwise one node.
  void findNodes() {
    const int gpus = m_fabric.gpuCount();
    std::vector<std::string> boxes;
    for (int rank = 0; rank < gpus; ++rank) {
      if (boxes.empty() || boxes.back() != boxOf(gpu(rank))) {
        boxes.push_back(boxOf(gpu(rank)));
      }
    }
    const std::set<std::string> names(boxes.begin(), boxes.end());
    m_nodes = static_cast<int>(boxes.size());
    m_perNode = gpus / std::max(m_nodes, 1);
    bool isEven = names.size() == boxes.size() && m_nodes > 1 && m_perNode > 0 && gpus % m_nodes == 0;
    for (int rank = 0; isEven && rank < gpus; ++rank) {
      isEven = boxOf(gpu(rank)) == boxes[rank / m_perNode];
    }
    if (!isEven || !boxesAreEqual()) {
      m_nodes = 1;
      m_perNode = gpus;
    }
  }

  /// The same links with the same costs in each box, which a topology file can say once.
  bool boxesAreEqual() {
    for (int a = 0; a < m_perNode; ++a) {
      for (int b = 0; b < m_perNode; ++b) {
        for (int node = 1; a != b && node < m_nodes; ++node) {
          const Route first = localRoute(a, b);
          const Route other = localRoute(node * m_perNode + a, node * m_perNode + b);
          if (first.size() != other.size() || (!first.empty() && costOf(first) != costOf(other))) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /// A way that does not leave the node; empty where there is none.
  Route localRoute(int from, int to) {
    const Route& route = routeOf(from, to);
    const bool isInside = std::all_of(route.begin(), route.end(),
                                      [&](NodeIndex node) { return m_nodes == 1 || boxOf(node) == boxOf(gpu(from)); });
    return isInside ? route : Route{};
  }

  [[nodiscard]] const fabric::Arc& arc(NodeIndex from, NodeIndex to) const {
    return m_fabric.arcs()[*m_fabric.findArc(from, to)];
  }

  /// Microseconds for a chunk, without latency.
  [[nodiscard]] Rational costOf(const Route& route) const {
    Bandwidth min = arc(route[0], route[1]).bandwidth;
    for (std::size_t i = 1; i + 1 < route.size(); ++i) {
      min = std::min(min, arc(route[i], route[i + 1]).bandwidth);
    }
    return transferTime(m_options.chunkBytes, min).count();
  }

  [[nodiscard]] Rational latencyOf(const Route& route) const {
    ExactMicroseconds sum(0);
    for (std::size_t i = 0; i + 1 < route.size(); ++i) {
      sum += arc(route[i], route[i + 1]).latency.value_or(ExactMicroseconds(0));
    }
    return sum.count();
  }

  /// Direct links alone lead from each GPU of the first node to all others.
  bool directLinksJoin() {
    for (int start = 0; start < m_perNode; ++start) {
      std::set<int> seen = {start};
      std::vector<int> queue = {start};
      for (std::size_t at = 0; at < queue.size(); ++at) {
        for (int next = 0; next < m_perNode; ++next) {
          if (next != queue[at] && localRoute(queue[at], next).size() == 2 && seen.insert(next).second) {
            queue.push_back(next);
          }
        }
      }
      if (static_cast<int>(seen.size()) < m_perNode) {
        return false;
      }
    }
    return true;
  }

  /// Unequal boxes as one node: by GPU, the number of its box and its place there; empty for anything else.
  [[nodiscard]] std::vector<std::pair<int, int>> placesInBoxes() const {
    std::map<std::string, int> numbers;
    std::vector<std::pair<int, int>> places;
    std::vector<int> count;
    for (int each = 0; m_nodes == 1 && each < m_perNode; ++each) {
      const std::string& box = boxOf(gpu(each));
      if (box.empty()) {
        return {};
      }
      const int number = numbers.emplace(box, static_cast<int>(numbers.size())).first->second;
      count.resize(numbers.size());
      places.emplace_back(number, count[number]++);
    }
    return numbers.size() > 1 ? places : std::vector<std::pair<int, int>>();
  }

  void addLocalLinks() {
    const bool usesDirect = directLinksJoin();
    const std::vector<std::pair<int, int>> places = usesDirect ? std::vector<std::pair<int, int>>() : placesInBoxes();
    Topology& topology = m_proposal.topology;
    const auto m = static_cast<std::size_t>(m_perNode);
    topology.links.assign(m, std::vector<int>(m));
    topology.linkBetas.assign(m, std::vector<Rational>(m));
    topology.linkCosts.assign(m, std::vector<Rational>(m));
    // All routes of a GPU through the same link to a switch: these GPUs share ports.
    std::map<int, std::map<int, std::set<NodeIndex>>> firstHops;  // by box, then GPU
    std::set<int> direct;                                         // boxes with a link that passes no switch
    int boxes = 1;
    for (const auto& [box, place] : places) {
      boxes = std::max(boxes, box + 1);
    }
    for (int from = 0; from < m_perNode; ++from) {
      const int box = places.empty() ? 0 : places[from].first;
      for (int to = 0; to < m_perNode; ++to) {
        const bool isBetween = !places.empty() && places[to].first != box;
        // Unequal boxes are a ring of counterparts, so that the links do not share NICs.
        if (from == to ||
            (isBetween && !(places[from].second == places[to].second && places[to].first == (box + 1) % boxes))) {
          continue;
        }
        const Route route = localRoute(from, to);
        if (route.empty() || (usesDirect && route.size() > 2)) {
          continue;
        }
        topology.links[to][from] = 1;
        topology.linkBetas[to][from] = topology.linkCosts[to][from] = costOf(route);
        if (!isBetween) {
          firstHops[box][from].insert(route[1]);
          if (route.size() == 2) {
            direct.insert(box);
          }
        }
      }
    }
    for (const auto& [box, hops] : firstHops) {
      const bool isSwitched =
          !direct.contains(box) && hops.size() > 2 &&
          std::all_of(hops.begin(), hops.end(), [](const auto& of) { return of.second.size() == 1; });
      if (isSwitched) {
        m_proposal.sketch.local = LocalStrategy::switchPorts;
        m_proposal.sketch.policies.emplace_back("free");
        std::vector<int>& gpus = m_proposal.sketch.switches.emplace_back();
        for (const auto& [each, of] : hops) {
          gpus.push_back(each);
        }
      }
    }
  }

  /// GPUs of the first node by the first node that is not theirs alone on the way to the next node: those that share a
  /// NIC together.
  std::vector<std::vector<int>> nicGroups() {
    std::map<NodeIndex, std::vector<int>> byNic;
    std::vector<NodeIndex> order;
    for (int each = 0; each < m_perNode; ++each) {
      const Route& route = routeOf(each, m_perNode + each);
      if (route.empty()) {
        continue;
      }
      NodeIndex key = route.front();
      for (const NodeIndex node : route) {
        if (m_fabric.nodes()[node].kind == fabric::NodeKind::nic) {
          key = node;
          break;
        }
      }
      if (!byNic.contains(key)) {
        order.push_back(key);
      }
      byNic[key].push_back(each);
    }
    std::vector<std::vector<int>> groups;
    for (const NodeIndex key : order) {
      groups.push_back(byNic[key]);
    }
    return groups;
  }

  void addRemoteLinks() {
    RemoteSketch& remote = m_proposal.sketch.remote.emplace();
    const std::vector<std::vector<int>> groups = nicGroups();
    if (groups.empty()) {
      addFirstReachable(remote);
    }
    if (groups.empty() && remote.receivers.empty()) {
      throw Failure{{ErrorCode::infeasible, "no GPU reaches one of the next box without passing a GPU",
                     "join boxes by NICs and switches, or leave the boxes out"}};
    }
    std::set<int> covered;
    for (const std::vector<int>& group : groups) {
      const int sender = group.size() > 1 ? group[1] : group[0];
      remote.receivers[sender] = {group[0]};
      remote.relayedBy[sender] = group;
      covered.insert(group.begin(), group.end());
    }
    if (static_cast<int>(covered.size()) < m_perNode) {
      remote.relayedBy.clear();  // those without a NIC may use any
    }
    addRemoteCosts(remote.receivers);
    m_proposal.topology.nicsPerNode = static_cast<int>(remote.receivers.size());
  }

  /// Where no GPU reaches its counterpart: each sends to the first GPU of the next box that it reaches.
  void addFirstReachable(RemoteSketch& remote) {
    for (int from = 0; from < m_perNode; ++from) {
      for (int to = 0; to < m_perNode && !remote.receivers.contains(from); ++to) {
        if (!routeOf(from, m_perNode + to).empty()) {
          remote.receivers[from] = {to};
        }
      }
    }
  }

  /// The receivers of each sender, without those that the node does not have: makeModel names them.
  [[nodiscard]] std::map<int, std::vector<int>> connectionsOf(const Sketch& sketch) const {
    std::map<int, std::vector<int>> receivers;
    for (int from = 0; sketch.remote && from < m_perNode; ++from) {
      for (int to = 0; to < m_perNode; ++to) {
        const auto listed = sketch.remote->receivers.find(from);
        const bool isListed = listed != sketch.remote->receivers.end() &&
                              std::find(listed->second.begin(), listed->second.end(), to) != listed->second.end();
        const Connections connections = sketch.remote->connections;
        if (connections == Connections::fullyConnected || (connections == Connections::directMap && from == to) ||
            (connections == Connections::listed && isListed)) {
          receivers[from].push_back(to);
        }
      }
    }
    return receivers;
  }

  /// Those of the slowest way between two nodes.
  void addRemoteCosts(const std::map<int, std::vector<int>>& connections) {
    Rational beta = 0;
    Rational alpha = 0;
    for (const auto& [sender, receivers] : connections) {
      for (const int receiver : receivers) {
        for (int a = 0; a < m_nodes; ++a) {
          for (int b = 0; b < m_nodes; ++b) {
            if (a == b) {
              continue;
            }
            const Route& route = routeOf(a * m_perNode + sender, b * m_perNode + receiver);
            if (route.empty()) {
              throw Failure{{ErrorCode::infeasible,
                             "no route that passes no GPU leads from " +
                                 m_fabric.nodes()[gpu(a * m_perNode + sender)].id + " to " +
                                 m_fabric.nodes()[gpu(b * m_perNode + receiver)].id,
                             "join all boxes to each other"}};
            }
            beta = std::max(beta, costOf(route));
            alpha = std::max(alpha, latencyOf(route));
          }
        }
      }
    }
    m_proposal.topology.remoteAlpha = alpha;
    m_proposal.topology.remoteBeta = beta;
    m_proposal.topology.remoteCost = alpha + beta;
  }

  const fabric::Fabric& m_fabric;
  const ProposalOptions& m_options;
  WideRoutes m_finder;
  std::map<std::pair<int, int>, Route> m_routes;
  int m_nodes = 1;
  int m_perNode = 0;
  Proposal m_proposal;
};

/// When n chunks can have come into the GPU, each link or port taking one after the other.
Rational timeInto(const Model& model, int gpu, int n) {
  std::vector<Rational> costs;
  std::set<int> shared;
  for (auto machine = model.machines.rbegin(); machine != model.machines.rend(); ++machine) {
    const bool isInto = std::all_of(machine->links.begin(), machine->links.end(),
                                    [&](int link) { return model.links[link].to == gpu; });
    if (!isInto || (machine->links.size() == 1 && shared.contains(machine->links.front()))) {
      continue;
    }
    // Ports are listed after links.
    shared.insert(machine->links.begin(), machine->links.end());
    costs.push_back(model.links[machine->links.front()].beta);
  }
  using Event = std::pair<Rational, std::size_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> next;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    next.emplace(costs[i], i);
  }
  Rational time = 0;
  for (; n > 0 && !next.empty(); --n) {
    time = next.top().first;
    const std::size_t at = next.top().second;
    next.pop();
    next.emplace(time + costs[at], at);
  }
  return time;
}

/// @param model with one chunk for each GPU
int fewestChunks(const Model& model) {
  constexpr int kMaxChunks = 8;
  constexpr int kMaxChunksInAll = 256;  // more make the search slow
  std::vector<int> counts;
  for (int count = 1; count <= kMaxChunks && (count == 1 || count * model.gpus() <= kMaxChunksInAll); count *= 2) {
    counts.push_back(count);
  }
  const auto timeOf = [&](int count) {
    Rational longest = 0;
    for (int gpu = 0; gpu < model.gpusPerNode; ++gpu) {
      longest = std::max(longest, timeInto(model, gpu, (model.gpus() - 1) * count));
    }
    return longest / Rational(count);
  };
  const Rational max = timeOf(counts.back()) * Rational(21, 20);
  return *std::find_if(counts.begin(), counts.end(), [&](int count) { return timeOf(count) <= max; });
}

}  // namespace

Result<Proposal> propose(const fabric::Fabric& fabric, const ProposalOptions& options) {
  return guarded([&]() -> Result<Proposal> {
    if (options.chunksPerGpu > 0) {
      return Proposer(fabric, options).make();
    }
    ProposalOptions chosen{options.chunkBytes, 1};
    Proposal single = Proposer(fabric, chosen).make();
    chosen.chunksPerGpu = static_cast<int>(std::min<std::int64_t>(fewestChunks(single.model), options.chunkBytes));
    if (chosen.chunksPerGpu == 1) {
      return single;
    }
    chosen.chunkBytes = (options.chunkBytes + chosen.chunksPerGpu - 1) / chosen.chunksPerGpu;
    return Proposer(fabric, chosen).make();
  });
}

Result<Proposal> fit(const fabric::Fabric& fabric, const Sketch& sketch, const ProposalOptions& options) {
  return guarded([&] { return Proposer(fabric, options).fit(sketch); });
}

}  // namespace coppice::sketch
