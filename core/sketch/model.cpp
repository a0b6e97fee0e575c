// SPDX-License-Identifier: Apache-2.0
#include "sketch/make_model.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::sketch {
namespace {

[[noreturn]] void refuse(const std::string& key, std::string message, std::string fix) {
  throw Failure{
      {ErrorCode::badInput, std::move(message), std::move(fix), {.element = {RefKind::key, std::string(key)}}}};
}

std::string numbers(const std::vector<int>& values) {
  const std::string text = commaList(values, [](const int value) { return std::to_string(value); });
  return "[" + text + "]";
}

/// int() of the official program.
Rational cut(const Rational& value, bool truncates) {
  return truncates ? Rational(value.floor()) : value;
}

/// Links of a node, indexed [to][from]: how many, and the cost of one chunk over one of them.
struct NodeLinks {
  Matrix<int> count;
  Matrix<Rational> beta;
  Matrix<Rational> cost;

  explicit NodeLinks(int gpus)
      : count(gpus, std::vector<int>(gpus)),
        beta(gpus, std::vector<Rational>(gpus)),
        cost(gpus, std::vector<Rational>(gpus)) {}
};

constexpr std::array<std::pair<int, int>, 8> kDoubleNvlinks = {
    {{0, 1}, {0, 4}, {1, 3}, {2, 3}, {2, 6}, {4, 5}, {5, 7}, {6, 7}}};
constexpr std::array<std::pair<int, int>, 8> kSingleNvlinks = {
    {{0, 2}, {0, 3}, {1, 2}, {1, 5}, {3, 7}, {4, 6}, {4, 7}, {5, 6}}};

class Maker {
public:
  Maker(const Sketch& sketch, const Topology& topology, const ModelOptions& options)
      : m_sketch(sketch), m_topology(topology), m_options(options) {}

  ModelResult make() {
    checkNumbers();
    m_result.type = m_options.type ? *m_options.type : guessType();
    m_model.name = m_topology.name;
    m_model.gpusPerNode = m_topology.gpusPerNode;
    m_model.chunksPerGpu = m_sketch.chunksPerGpu;
    m_model.maxTogether = m_options.maxTogether;
    m_model.local = m_sketch.local;
    m_model.nodes = nodeCount();
    if (m_model.gpus() < 2) {
      refuse("gpus_per_node", "there is only one GPU", "a collective needs two GPUs or more");
    }
    addLocalLinks(nodeLinks());
    if (m_model.nodes > 1) {
      addRemoteLinks();
      readRelays();
    }
    finishLinks();
    addPorts();
    checkOffsets();
    guessUnit();
    m_result.model = std::move(m_model);
    return std::move(m_result);
  }

private:
  [[nodiscard]] int perNode() const { return m_model.gpusPerNode; }

  void note(Severity severity, std::string text, std::string fix, const std::string& key) {
    m_result.findings.push_back({severity,
                                 ErrorCode::badInput,
                                 std::move(text),
                                 std::move(fix),
                                 {.element = {RefKind::key, std::string(key)}}});
  }

  void checkNumbers() const {
    if (m_topology.gpusPerNode < 1) {
      refuse("gpus_per_node", "a node of " + std::to_string(m_topology.gpusPerNode) + " GPUs", "use 1 or more");
    }
    if (m_sketch.chunksPerGpu < 1) {
      refuse("input_chunkup", "each GPU has " + std::to_string(m_sketch.chunksPerGpu) + " chunks", "use 1 or more");
    }
    if (m_options.maxTogether < 1) {
      refuse("max_contiguous", "a message holds one chunk or more", "use 1 or more");
    }
    const auto notNegative = [](const Rational& value, const char* key) {
      if (value < Rational(0)) {
        refuse(key, "the cost " + value.toString() + " is negative", "costs are times; use 0 or more");
      }
    };
    notNegative(m_topology.alpha, "alpha");
    for (const Rational& value : m_topology.betas) {
      notNegative(value, "node_betas_list");
    }
    for (const Rational& value : m_topology.costs) {
      notNegative(value, "node_invbws_list");
    }
    for (const auto& row : m_topology.linkBetas) {
      for (const Rational& value : row) {
        notNegative(value, "betas");
      }
    }
    for (const auto& row : m_topology.linkCosts) {
      for (const Rational& value : row) {
        notNegative(value, "invbws");
      }
    }
    for (const auto& row : m_topology.links) {
      for (const int value : row) {
        if (value < 0) {
          refuse("links", "a pair of GPUs has " + std::to_string(value) + " links", "use 0 or more");
        }
      }
    }
  }

  MachineType guessType() {
    MachineType type = MachineType::hub;
    if (m_topology.isCustom()) {
      return MachineType::custom;
    }
    if (m_topology.gpusPerNode == 8 && m_topology.costs.size() == 2) {
      type = MachineType::ndv2;
    } else if (m_topology.gpusPerNode == 16 && m_topology.costs.size() == 1) {
      type = MachineType::dgx2;
    }
    note(Severity::note, "the kind of machine is taken to be " + std::string(toString(type)),
         "name it with --type if it is another", "name");
    return type;
  }

  int nodeCount() {
    std::optional<int> nodes = m_options.nodes ? m_options.nodes : m_sketch.nodes;
    if (!nodes) {
      int largest = perNode();
      for (const auto& [offset, size] : m_sketch.symmetryOffsets) {
        largest = std::max(largest, size);
      }
      if (!m_sketch.remote) {
        nodes = 1;
      } else if (largest > perNode() && largest % perNode() == 0) {
        nodes = largest / perNode();
      } else {
        refuse("nnodes", "the number of nodes is missing", "add \"nnodes\" to the sketch or give --nodes");
      }
      note(Severity::note, "nnodes is missing; " + std::to_string(*nodes) + " by the symmetry offsets",
           "add it to the sketch or give --nodes", "nnodes");
    }
    if (*nodes < 1) {
      refuse("nnodes", std::to_string(*nodes) + " nodes", "use 1 or more");
    }
    if (*nodes > 4096 / perNode() + 1) {
      refuse("nnodes", std::to_string(*nodes) + " nodes of " + std::to_string(perNode()) + " GPUs are too many",
             "use at most 4096 GPUs");
    }
    return *nodes;
  }

  [[nodiscard]] const Rational& listed(const std::vector<Rational>& list, std::size_t at, const char* key) const {
    if (at >= list.size()) {
      refuse(key, "the list has " + std::to_string(list.size()) + " of " + std::to_string(at + 1) + " values",
             "give one value for each kind of link");
    }
    return list[at];
  }

  /// A cost of a link, which a switch would otherwise replace.
  [[nodiscard]] static const Rational& positive(const Rational& cost, const char* key) {
    if (!cost.isPositive()) {
      refuse(key, "a link takes no time", "give a cost above 0");
    }
    return cost;
  }

  void setPair(NodeLinks& links, int a, int b, std::size_t kind) const {
    // The official program cuts the costs of these two machines and not those of the others.
    const bool cuts = m_options.truncates && m_result.type != MachineType::hub;
    for (const auto& [to, from] : {std::pair{a, b}, std::pair{b, a}}) {
      links.count[to][from] = 1;
      links.beta[to][from] = listed(m_topology.betas, kind, "node_betas_list");
      links.cost[to][from] =
          cut(positive(listed(m_topology.costs, kind, "node_invbws_list"), "node_invbws_list"), cuts);
    }
  }

  NodeLinks knownLinks() {
    const int m = perNode();
    NodeLinks links(m);
    if (m_topology.isCustom()) {
      refuse("links", "a " + std::string(toString(m_result.type)) + " has its links already, and the file has its own",
             "give --type custom");
    }
    if (m_result.type == MachineType::ndv2) {
      if (m != 8) {
        refuse("gpus_per_node", "an NDv2 has 8 GPUs, not " + std::to_string(m), "use 8, or another --type");
      }
      for (const auto& [a, b] : kDoubleNvlinks) {
        setPair(links, a, b, 0);
      }
      for (const auto& [a, b] : kSingleNvlinks) {
        setPair(links, a, b, 1);
      }
      return links;
    }
    for (int a = 0; a < m; ++a) {
      for (int b = 0; b < a; ++b) {
        setPair(links, a, b, 0);
      }
    }
    return links;
  }

  template <typename T>
  void checkMatrix(const Matrix<T>& matrix, const char* key) const {
    const auto m = static_cast<std::size_t>(perNode());
    if (matrix.size() != m) {
      refuse(key, "the matrix has " + std::to_string(matrix.size()) + " rows for " + std::to_string(m) + " GPUs",
             "give a row for each GPU that receives");
    }
    for (std::size_t row = 0; row < m; ++row) {
      if (matrix[row].size() != m) {
        refuse(key,
               "row " + std::to_string(row) + " has " + std::to_string(matrix[row].size()) + " values for " +
                   std::to_string(m) + " GPUs",
               "give a value for each GPU that sends");
      }
    }
  }

  NodeLinks customLinks() {
    if (!m_topology.isCustom()) {
      refuse("links", "a custom machine needs its links", "give links, betas and invbws, or another --type");
    }
    checkMatrix(m_topology.links, "links");
    checkMatrix(m_topology.linkBetas, "betas");
    checkMatrix(m_topology.linkCosts, "invbws");
    NodeLinks links(perNode());
    links.count = m_topology.links;
    links.beta = m_topology.linkBetas;
    links.cost = m_topology.linkCosts;
    for (int gpu = 0; gpu < perNode(); ++gpu) {
      if (links.count[gpu][gpu] != 0) {
        refuse("links", "GPU " + std::to_string(gpu) + " has a link to itself", "set the diagonal to 0");
      }
    }
    for (int to = 0; to < perNode(); ++to) {
      for (int from = 0; from < perNode(); ++from) {
        if (links.count[to][from] > 0) {
          static_cast<void>(positive(links.cost[to][from], "invbws"));
        }
      }
    }
    return links;
  }

  void checkGpu(int gpu, const char* key) const {
    if (gpu < 0 || gpu >= perNode()) {
      refuse(key, "GPU " + std::to_string(gpu) + " is not one of 0 to " + std::to_string(perNode() - 1),
             "number the GPUs within one node, from 0");
    }
  }

  void checkSwitches() const {
    if (m_sketch.policies.size() != m_sketch.switches.size()) {
      refuse("switch_hyperedge_strategy",
             counted(m_sketch.policies.size(), "policy", "policies") + " for " +
                 counted(m_sketch.switches.size(), "switch", "switches"),
             "give one for each switch: uc-min, uc-max or free");
    }
    std::vector<std::set<int>> sets;
    for (const std::vector<int>& gpus : m_sketch.switches) {
      for (const int gpu : gpus) {
        checkGpu(gpu, "switches");
      }
      std::set<int> set(gpus.begin(), gpus.end());
      if (set.size() != gpus.size() || set.size() < 2) {
        refuse("switches",
               "the switch " + numbers(gpus) + (set.size() < 2 ? " joins fewer than two GPUs" : " names a GPU twice"),
               "name each GPU of a switch once");
      }
      for (const std::set<int>& other : sets) {
        const bool meets = std::any_of(set.begin(), set.end(), [&](int gpu) { return other.contains(gpu); });
        if (meets && set != other) {
          refuse("switches", "the switch " + numbers(gpus) + " shares some GPUs with another one, but not all",
                 "two switches have the same GPUs, or none in common");
        }
      }
      sets.push_back(std::move(set));
    }
  }

  /// Equal switches split the bandwidth and multiply the links.
  NodeLinks nodeLinks() {
    NodeLinks links = m_result.type == MachineType::custom ? customLinks() : knownLinks();
    warnOfCosts(links);
    if (m_sketch.local != LocalStrategy::switchPorts) {
      return links;
    }
    checkSwitches();
    const int m = perNode();
    Matrix<int> copies(m, std::vector<int>(m, 1));
    for (const std::vector<int>& gpus : m_sketch.switches) {
      const std::set<int> set(gpus.begin(), gpus.end());
      const auto equal = std::count_if(m_sketch.switches.begin(), m_sketch.switches.end(), [&](const auto& other) {
        return set == std::set<int>(other.begin(), other.end());
      });
      for (const int a : gpus) {
        for (const int b : gpus) {
          copies[a][b] = static_cast<int>(equal);
        }
      }
    }
    for (int to = 0; to < m; ++to) {
      for (int from = 0; from < m; ++from) {
        links.count[to][from] *= copies[to][from];
        links.cost[to][from] =
            cut(m_topology.alpha + links.beta[to][from] / Rational(copies[to][from]), m_options.truncates);
      }
    }
    return links;
  }

  void warnOfCosts(const NodeLinks& links) {
    for (int to = 0; to < perNode(); ++to) {
      for (int from = 0; from < perNode(); ++from) {
        const Rational sum = m_topology.alpha + links.beta[to][from];
        const Rational difference = links.cost[to][from] - sum;
        if (links.count[to][from] > 0 && (difference > sum / Rational(5) || -difference > sum / Rational(5))) {
          note(
              Severity::warning,
              "the cost " + links.cost[to][from].toString() + " of a link is far from alpha + beta = " + sum.toString(),
              "correct one of them", m_topology.isCustom() ? "invbws" : "node_invbws_list");
          return;
        }
      }
    }
  }

  void addLink(int from, int to, int lane, const Rational& alpha, const Rational& beta, const Rational& routing,
               bool isRemote) {
    m_model.links.push_back({from, to, lane, alpha, beta, routing, isRemote});
  }

  void addLocalLinks(const NodeLinks& links) {
    for (int from = 0; from < perNode(); ++from) {
      for (int to = 0; to < perNode(); ++to) {
        const int count = links.count[to][from];
        if (count > 64) {
          refuse("links", std::to_string(count) + " links between two GPUs", "use at most 64");
        }
        if (count > 0 && !links.cost[to][from].isPositive()) {
          refuse(
              m_topology.isCustom() ? "invbws" : "node_invbws_list",
              "the link " + std::to_string(from) + " -> " + std::to_string(to) + " takes no time",
              m_options.truncates ? "scale all costs up, or keep fractions with --no-truncate" : "give a cost above 0");
        }
        for (int node = 0; node < m_model.nodes; ++node) {
          for (int lane = 0; lane < count; ++lane) {
            addLink(node * perNode() + from, node * perNode() + to, lane, 0, links.cost[to][from], links.cost[to][from],
                    false);
          }
        }
      }
    }
  }

  std::map<int, std::vector<int>> connections() const {
    const RemoteSketch& remote = *m_sketch.remote;
    std::map<int, std::vector<int>> receivers = remote.receivers;
    for (int gpu = 0; gpu < perNode() && remote.connections != Connections::listed; ++gpu) {
      receivers[gpu].clear();
      for (int other = 0; other < perNode(); ++other) {
        if (remote.connections == Connections::fullyConnected || other == gpu) {
          receivers[gpu].push_back(other);
        }
      }
    }
    if (receivers.empty()) {
      refuse("internode_conn", "no GPU sends to other nodes", "name a sender with its receivers");
    }
    const std::size_t count = receivers.begin()->second.size();
    for (const auto& [sender, gpus] : receivers) {
      checkGpu(sender, "internode_conn");
      for (const int gpu : gpus) {
        checkGpu(gpu, "internode_conn");
      }
      if (std::set<int>(gpus.begin(), gpus.end()).size() != gpus.size()) {
        refuse("internode_conn", "GPU " + std::to_string(sender) + " has a receiver twice", "name each once");
      }
      if (gpus.empty() || gpus.size() != count) {
        refuse("internode_conn",
               "GPU " + std::to_string(sender) + " has " + counted(gpus.size(), "receiver") + " and GPU " +
                   std::to_string(receivers.begin()->first) + " has " + std::to_string(count),
               "give each sender the same number of receivers, one or more");
      }
    }
    return receivers;
  }

  /// A cost that the file must have for several nodes.
  const Rational& remoteCost(const std::optional<Rational>& value, const char* key) const {
    if (!value) {
      refuse(key, "the cost between nodes is missing", "add it to the topology file");
    }
    if (*value < Rational(0)) {
      refuse(key, "the cost " + value->toString() + " is negative", "costs are times; use 0 or more");
    }
    return *value;
  }

  [[nodiscard]] int nics() const {
    if (m_result.type == MachineType::ndv2) {
      return 1;
    }
    if (m_result.type == MachineType::dgx2) {
      return 8;
    }
    if (!m_topology.nicsPerNode) {
      refuse("nics_per_node", "the number of NICs is missing", "add it to the topology file");
    }
    if (*m_topology.nicsPerNode < 1) {
      refuse("nics_per_node", std::to_string(*m_topology.nicsPerNode) + " NICs", "use 1 or more");
    }
    return *m_topology.nicsPerNode;
  }

  void addRemoteLinks() {
    if (!m_sketch.remote) {
      refuse("internode_sketch", "several nodes need a sketch of what goes between them",
             "add internode_sketch, or set nnodes to 1");
    }
    const Rational& alpha = remoteCost(m_topology.remoteAlpha, "remote_alpha");
    const Rational& beta = remoteCost(m_topology.remoteBeta, "remote_beta");
    m_connections = connections();
    const bool sharesNics = m_sketch.remote->sharesNics || m_options.sharesNics;
    if (sharesNics) {
      assignNics();
    }
    const Rational share(checkedMul<std::int64_t>(static_cast<std::int64_t>(m_connections.size()),
                                                  static_cast<std::int64_t>(m_connections.begin()->second.size())),
                         nics());
    for (const auto& [sender, split] : m_sketch.remote->betaSplit) {
      if (!m_connections.contains(sender) || !split.isPositive()) {
        refuse("beta_split",
               "GPU " + std::to_string(sender) +
                   (split.isPositive() ? " has no link to other nodes" : " has no share of the bandwidth"),
               "name senders, each with a number above 0");
      }
    }
    for (const auto& [sender, gpus] : m_connections) {
      const auto split = m_sketch.remote->betaSplit.find(sender);
      const Rational part = split != m_sketch.remote->betaSplit.end() ? split->second : share;
      const Rational cost = cut(sharesNics ? beta : beta * part, m_options.truncates);
      const Rational routing = cut(alpha + cost, m_options.truncates);
      // Without it, a link would have unlimited bandwidth.
      if (!cost.isPositive()) {
        refuse(
            "remote_beta", "a chunk takes no time on a link between nodes, beside the latency",
            m_options.truncates ? "scale all costs up, or keep fractions with --no-truncate" : "give a cost above 0");
      }
      for (int a = 0; a < m_model.nodes; ++a) {
        for (int b = 0; b < m_model.nodes; ++b) {
          for (const int gpu : gpus) {
            if (a != b) {
              addLink(a * perNode() + sender, b * perNode() + gpu, 0, alpha, cost, routing, true);
            }
          }
        }
      }
    }
  }

  /// GPUs next to each other have the same one.
  void assignNics() {
    if (nics() > perNode()) {
      refuse("nics_per_node",
             counted(nics(), "NIC") + " for " + counted(perNode(), "GPU") + " of a node cannot be shared",
             "use the paper's model, where each link has a part of their bandwidth");
    }
    for (int gpu = 0; gpu < perNode(); ++gpu) {
      m_model.nics.push_back(gpu * nics() / perNode());
    }
    note(Severity::note, "links between nodes share whole NICs, which is not the paper's model",
         "leave coppice_share and --share out for the paper's", "coppice_share");
  }

  void readRelays() {
    const RemoteSketch& remote = *m_sketch.remote;
    m_model.ownFirst = remote.enforceOrdering;
    if (remote.relayedBy.empty() && !remote.chunkToRelay) {
      return;
    }
    m_model.relays.resize(perNode());
    for (const auto& [sender, gpus] : remote.relayedBy) {
      checkGpu(sender, "gpus_to_sender_rev_map");
      if (!m_connections.contains(sender)) {
        refuse("gpus_to_sender_rev_map", "GPU " + std::to_string(sender) + " has no link to other nodes",
               "name senders of internode_conn");
      }
      for (const int gpu : gpus) {
        checkGpu(gpu, "gpus_to_sender_rev_map");
        m_model.relays[gpu].push_back(sender);
      }
    }
    if (remote.chunkToRelay && remote.relayedBy.empty()) {
      readRelayRule(remote.chunkToRelay->first, remote.chunkToRelay->second);
    }
    for (int gpu = 0; gpu < perNode(); ++gpu) {
      if (m_model.relays[gpu].empty()) {
        refuse("gpus_to_sender_rev_map", "the data of GPU " + std::to_string(gpu) + " has no relay",
               "list it under a sender");
      }
      std::sort(m_model.relays[gpu].begin(), m_model.relays[gpu].end());
    }
  }

  void readRelayRule(int group, int relay) {
    if (group < 1) {
      refuse("chunk_to_relay_map", "groups of " + std::to_string(group) + " GPUs", "use 1 or more");
    }
    for (int gpu = 0; gpu < perNode(); ++gpu) {
      const int sender = gpu / group * group + relay;
      if (!m_connections.contains(sender)) {
        refuse("chunk_to_relay_map",
               "GPU " + std::to_string(gpu) + " would send by GPU " + std::to_string(sender) +
                   ", which has no link to other nodes",
               "choose r1 and r2 so that p / r1 * r1 + r2 is a sender");
      }
      m_model.relays[gpu].push_back(sender);
    }
  }

  void finishLinks() {
    auto& links = m_model.links;
    std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
      return std::tuple(a.from, a.to, a.lane) < std::tuple(b.from, b.to, b.lane);
    });
    for (std::size_t i = 0; i < links.size(); ++i) {
      m_model.machines.push_back({"link " + std::to_string(links[i].from) + " -> " + std::to_string(links[i].to) +
                                      (links[i].lane > 0 ? " lane " + std::to_string(links[i].lane) : ""),
                                  {static_cast<int>(i)}});
    }
  }

  /// Of the links that leave the GPUs, and of those that enter them, the ones that the test takes.
  template <typename Test>
  void addMachines(const std::string& name, const char* out, const char* in, const std::vector<int>& gpus,
                   const Test& test) {
    for (const bool isOut : {true, false}) {
      Machine machine{name + (isOut ? out : in), {}};
      for (const int gpu : gpus) {
        for (const int link : (isOut ? m_linksFrom : m_linksTo)[gpu]) {
          if (test(m_model.links[link])) {
            machine.links.push_back(link);
          }
        }
      }
      std::sort(machine.links.begin(), machine.links.end());
      // Between two nodes, what one NIC sends may be all that another one receives.
      if (machine.links.size() > 1 && m_portLinks.insert(machine.links).second) {
        m_model.machines.push_back(std::move(machine));
      }
    }
  }

  void addPorts() {
    m_linksFrom.resize(m_model.gpus());
    m_linksTo.resize(m_model.gpus());
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      m_linksFrom[m_model.links[i].from].push_back(static_cast<int>(i));
      m_linksTo[m_model.links[i].to].push_back(static_cast<int>(i));
    }
    if (m_sketch.local == LocalStrategy::switchPorts) {
      m_model.switches = m_sketch.switches;
      m_model.policy = m_sketch.policies.empty() ? "" : m_sketch.policies.front();
      for (std::size_t i = 0; i < m_sketch.switches.size(); ++i) {
        addSwitchPorts(i);
      }
    }
    const auto isRemote = [](const Link& link) { return link.isRemote; };
    for (int node = 0; !m_model.nics.empty() && node < m_model.nodes; ++node) {
      for (int nic = 0; nic <= m_model.nics.back(); ++nic) {
        const std::string name = "NIC " + std::to_string(nic) + " of node " + std::to_string(node);
        std::vector<int> gpus;
        for (int local = 0; local < perNode(); ++local) {
          if (m_model.nics[local] == nic) {
            gpus.push_back(node * perNode() + local);
          }
        }
        addMachines(name, " out", " in", gpus, isRemote);
      }
    }
    for (int gpu = 0; m_model.nics.empty() && m_model.nodes > 2 && gpu < m_model.gpus(); ++gpu) {
      addMachines("GPU " + std::to_string(gpu), " to other nodes", " from other nodes", {gpu}, isRemote);
    }
  }

  void addSwitchPorts(std::size_t i) {
    const std::set<int> set(m_sketch.switches[i].begin(), m_sketch.switches[i].end());
    // Of equal switches, the first takes the first lane of each pair, and so on.
    int lane = 0;
    int copies = 0;
    for (std::size_t j = 0; j < m_sketch.switches.size(); ++j) {
      const bool isEqual = set == std::set<int>(m_sketch.switches[j].begin(), m_sketch.switches[j].end());
      copies += isEqual ? 1 : 0;
      lane += isEqual && j < i ? 1 : 0;
    }
    const auto belongs = [&](const Link& link) {
      return !link.isRemote && set.contains(link.from % perNode()) && set.contains(link.to % perNode()) &&
             link.lane % copies == lane;
    };
    for (int node = 0; node < m_model.nodes; ++node) {
      for (const int local : set) {
        const int gpu = node * perNode() + local;
        addMachines("switch " + std::to_string(i) + " port of GPU " + std::to_string(gpu), " out", " in", {gpu},
                    belongs);
      }
    }
  }

  void checkOffsets() {
    for (const auto& [offset, size] : m_sketch.symmetryOffsets) {
      if (size < 1 || m_model.gpus() % size != 0) {
        refuse("symmetry_offsets",
               "groups of " + std::to_string(size) + " do not divide " + std::to_string(m_model.gpus()) + " GPUs",
               "use a group size that divides the number of GPUs");
      }
      const int within = ((offset % size) + size) % size;
      if (within != 0) {
        m_model.offsets.emplace_back(within, size);
      }
    }
  }

  /// The unit is not in the file; the official ones hold 2.6 us as 2.6, 26 or 260.
  void guessUnit() {
    if (m_topology.remoteAlpha && m_topology.remoteAlpha->isPositive()) {
      m_model.timeUnit = ExactMicroseconds(Rational(13, 5)) / *m_topology.remoteAlpha;
    }
  }

  const Sketch& m_sketch;
  const Topology& m_topology;
  const ModelOptions& m_options;
  std::map<int, std::vector<int>> m_connections;
  std::vector<std::vector<int>> m_linksFrom;  ///< by GPU
  std::vector<std::vector<int>> m_linksTo;
  std::set<std::vector<int>> m_portLinks;
  Model m_model;
  ModelResult m_result;
};

void turn(Link& link) {
  std::swap(link.from, link.to);
}

std::vector<int> allBut(int gpus, int left) {
  std::vector<int> rest;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (gpu != left) {
      rest.push_back(gpu);
    }
  }
  return rest;
}

}  // namespace

std::string_view toString(LocalStrategy strategy) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "switch", "minmax", "maxmin"};
  return kNames[static_cast<std::size_t>(strategy)];
}

std::string_view toString(MachineType type) {
  constexpr std::array<std::string_view, 4> kNames = {"ndv2", "dgx2", "hub", "custom"};
  return kNames[static_cast<std::size_t>(type)];
}

std::optional<MachineType> parseMachineType(std::string_view text) {
  for (const MachineType type : {MachineType::ndv2, MachineType::dgx2, MachineType::hub, MachineType::custom}) {
    if (toString(type) == text) {
      return type;
    }
  }
  return std::nullopt;
}

bool Model::mayRelay(int owner, int sender) const {
  if (relays.empty()) {
    return true;
  }
  const std::vector<int>& allowed = relays[owner % gpusPerNode];
  return std::binary_search(allowed.begin(), allowed.end(), sender % gpusPerNode);
}

Result<ModelResult> makeModel(const Sketch& sketch, const Topology& topology, const ModelOptions& options) {
  return guarded([&] { return Maker(sketch, topology, options).make(); },
                 {.overflowFix = "use costs with fewer digits"});
}

Model transposed(const Model& model) {
  Model result = model;
  for (Link& link : result.links) {
    turn(link);
  }
  // Links ascend by their ends again, and machines follow them.
  std::vector<int> order(result.links.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Link& x = result.links[a];
    const Link& y = result.links[b];
    return std::tuple(x.from, x.to, x.lane) < std::tuple(y.from, y.to, y.lane);
  });
  std::vector<int> place(order.size());
  std::vector<Link> links;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<int>(i);
    links.push_back(result.links[order[i]]);
  }
  result.links = std::move(links);
  for (Machine& machine : result.machines) {
    for (int& link : machine.links) {
      link = place[link];
    }
    std::sort(machine.links.begin(), machine.links.end());
  }
  return result;
}

Result<std::vector<Chunk>> chunksOf(const Model& model, Collective collective, int root) {
  const int gpus = model.gpus();
  if (isRooted(collective) && (root < 0 || root >= gpus)) {
    return Error{ErrorCode::badUsage, "GPU " + std::to_string(root) + " cannot be the root",
                 "use 0 to " + std::to_string(gpus - 1)};
  }
  std::vector<Chunk> chunks;
  const auto add = [&](int origin, std::vector<int> targets) {
    for (int k = 0; k < model.chunksPerGpu; ++k) {
      chunks.push_back({origin, targets});
    }
  };
  const auto single = [](int origin, int target) {
    return origin == target ? std::vector<int>{} : std::vector<int>{target};
  };
  for (int gpu = 0; gpu < gpus; ++gpu) {
    switch (collective) {
      case Collective::allgather:
      case Collective::reduceScatter:
        add(gpu, allBut(gpus, gpu));
        break;
      case Collective::alltoall:
        for (int target = 0; target < gpus; ++target) {
          add(gpu, single(gpu, target));
        }
        break;
      case Collective::broadcast:
      case Collective::reduce:
        if (gpu == root) {
          add(gpu, allBut(gpus, gpu));
        }
        break;
      case Collective::scatter:
        add(root, single(root, gpu));
        break;
      case Collective::gather:
        add(gpu, single(gpu, root));
        break;
      default:
        return Error{ErrorCode::badUsage, "TACCL does not support " + std::string(toString(collective)),
                     "use allgather, reduce_scatter, allreduce, alltoall, broadcast, reduce, scatter or gather"};
    }
  }
  return chunks;
}

}  // namespace coppice::sketch
