// SPDX-License-Identifier: Apache-2.0
#include "io/cluster_network.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/natural_order.hpp"
#include "base/text.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxNodes = 200000;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowerText(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// The number of an adapter: 5 of "mlx5_5", "ib5", "nic5", and of "HCA-6", which counts from 1.
std::optional<int> adapterNumber(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
    --at;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
  if (at == 0 || error != std::errc{} || end != name.data() + name.size()) {
    return std::nullopt;
  }
  return lowerText(name.substr(0, at)) == "hca-" ? number - 1 : number;
}

/// Names of up to five, for a message.
std::string someOf(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i) {
    out += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > 5 ? out + ", ..." : out;
}

/// One run of joinHosts.
class Joining {
public:
  Joining(const ClusterNetwork& network, const std::vector<HostModel>& models, const NetworkOptions& options,
          const std::string& fileName)
      : m_network(network), m_models(models), m_options(options), m_fileName(fileName) {}

  ImportResult run() {
    choosePorts();
    chooseHosts();
    emitHosts();
    emitSwitches();
    m_result.description.name = m_network.name;
    for (auto& [key, origin] : m_origins) {
      m_result.origins.push_back(std::move(origin));
    }
    for (Finding& finding : m_result.findings) {
      if (finding.where.file.empty()) {
        finding.where.file = m_fileName;
      }
    }
    return std::move(m_result);
  }

private:
  using Port = ClusterNetwork::Port;

  [[noreturn]] void refuse(ErrorCode code, std::string message, std::string fix) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, 0, 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_result.findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix), {}});
  }

  static bool matchesAny(std::string_view text, const std::vector<std::string>& patterns) {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matchesPattern(text, p); });
  }

  void count(const std::string& what, const Bandwidth& bandwidth, NumberOrigin::Source source, std::string detail,
             std::size_t links = 1) {
    const auto key = std::make_tuple(what, toFraction(bandwidth), static_cast<int>(source), detail);
    m_origins.try_emplace(key, NumberOrigin{what, bandwidth, 0, source, std::move(detail)}).first->second.links +=
        links;
  }

  /// The cables of each host that the options leave, in the order of adapters.
  void choosePorts() {
    m_ports.resize(m_network.hosts.size());
    std::size_t otherHosts = 0;
    std::size_t otherPorts = 0;
    std::vector<bool> isHostUsed;
    for (const ClusterNetwork::Host& host : m_network.hosts) {
      isHostUsed.push_back(matchesAny(host.name, m_options.hosts));
      otherHosts += isHostUsed.back() ? 0 : 1;
    }
    for (const Port& port : m_network.ports) {
      if (!isHostUsed[static_cast<std::size_t>(port.host)]) {
        continue;
      }
      if (!port.adapter.empty() && !matchesAny(port.adapter, m_options.adapters)) {
        ++otherPorts;
        continue;
      }
      m_ports[static_cast<std::size_t>(port.host)].push_back(&port);
    }
    for (auto& ports : m_ports) {
      std::stable_sort(ports.begin(), ports.end(), [](const Port* a, const Port* b) {
        return a->adapter != b->adapter ? naturalLess(a->adapter, b->adapter) : a->port < b->port;
      });
    }
    if (otherHosts > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(otherHosts), "host") + " left out, as asked");
    }
    if (otherPorts > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(otherPorts), "cable") + " of other adapters left out");
    }
  }

  struct Match {
    const HostModel* model = nullptr;
    std::vector<std::pair<std::size_t, const Port*>> nics;  ///< index of a NIC of the model, and its cable
    bool isByNumber = false;
  };

  /// Which NIC of the model each cable belongs to.
  Match matched(const HostModel& model, const std::vector<const Port*>& ports) const {
    Match match{&model, {}, false};
    const auto& nics = model.inside.server->nics;
    if (nics.empty()) {
      return match;
    }
    if (std::all_of(ports.begin(), ports.end(), [](const Port* port) { return port->adapter.empty(); })) {
      // Every NIC of the host on each switch that the file names; several switches share the NICs.
      for (std::size_t i = 0; i < nics.size() && !ports.empty(); ++i) {
        match.nics.emplace_back(i, ports[i % ports.size()]);
      }
      return match;
    }
    std::vector<bool> isTaken(nics.size(), false);
    std::vector<const Port*> rest;
    const auto take = [&](const Port* port, auto fits) {
      for (std::size_t i = 0; i < nics.size(); ++i) {
        if (!isTaken[i] && fits(nics[i])) {
          isTaken[i] = true;
          match.nics.emplace_back(i, port);
          return true;
        }
      }
      return false;
    };
    for (const Port* port : ports) {
      if (!take(port, [&](const ImportedServer::Nic& nic) {
            return lowerText(nic.device.empty() ? nic.id : nic.device) == lowerText(port->adapter);
          })) {
        rest.push_back(port);
      }
    }
    for (const Port* port : std::exchange(rest, {})) {
      const auto number = adapterNumber(port->adapter);
      if (!number || !take(port, [&](const ImportedServer::Nic& nic) {
            return adapterNumber(nic.device.empty() ? nic.id : nic.device) == number;
          })) {
        rest.push_back(port);
      }
    }
    if (match.nics.empty() && ports.size() == nics.size()) {
      match.isByNumber = true;
      for (std::size_t i = 0; i < nics.size(); ++i) {
        match.nics.emplace_back(i, ports[i]);
      }
    }
    std::sort(match.nics.begin(), match.nics.end());
    return match;
  }

  void chooseHosts() {
    std::vector<int> order;
    for (int host = 0; host < static_cast<int>(m_network.hosts.size()); ++host) {
      if (!m_ports[static_cast<std::size_t>(host)].empty()) {
        order.push_back(host);
      }
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) { return naturalLess(nameOf(a), nameOf(b)); });
    if (order.empty()) {
      refuse(ErrorCode::infeasible, "no host with a cable is left",
             m_options.hosts.empty() && m_options.adapters.empty() ? "give the network of the hosts with GPUs"
                                                                   : "choose patterns that match hosts of the file");
    }
    if (m_models.empty()) {
      m_hosts = std::move(order);
      tellUnlikeHosts();
      return;
    }
    std::vector<std::string> without;
    std::map<std::size_t, std::vector<std::string>> missing;  // by cables
    std::vector<std::string> byNumber;
    for (const int host : order) {
      const auto& ports = m_ports[static_cast<std::size_t>(host)];
      Match best;
      bool isNamed = false;
      for (const HostModel& model : m_models) {
        const bool isOwn = !model.hostName.empty() && lowerText(model.hostName) == lowerText(nameOf(host));
        Match match = matched(model, ports);
        if ((match.nics.empty() && !model.inside.server->nics.empty()) || (isNamed && !isOwn)) {
          continue;
        }
        if ((isOwn && !isNamed) || best.model == nullptr || match.nics.size() > best.nics.size()) {
          best = std::move(match);
          isNamed = isOwn;
        }
      }
      if (best.model == nullptr) {
        without.push_back(nameOf(host));
        continue;
      }
      if (best.nics.size() < best.model->inside.server->nics.size()) {
        missing[best.nics.size()].push_back(nameOf(host));
      }
      if (best.isByNumber) {
        byNumber.push_back(nameOf(host));
      }
      m_hosts.push_back(host);
      m_matches.push_back(std::move(best));
    }
    if (m_hosts.empty()) {
      refuse(ErrorCode::infeasible, "no host of the network has the NICs of " + inQuotes(m_models.front().file),
             "compare the names of its NICs with the adapters of the network");
    }
    if (!without.empty()) {
      tell(Severity::note,
           counted(static_cast<std::int64_t>(without.size()), "host") +
               " left out, as no file describes a host with such NICs: " + someOf(without),
           "give a file of such a host, or say which hosts to use");
    }
    if (!missing.empty()) {
      // Those with the fewest first: they may be no compute hosts.
      std::string text;
      std::size_t hosts = 0;
      for (const auto& [cables, names] : missing) {
        hosts += names.size();
        text += (text.empty() ? "" : "; ") + counted(static_cast<std::int64_t>(cables), "cable") + ": " + someOf(names);
      }
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(hosts), "host") + " with fewer cables than the host of the file: " + text,
           "look at the ports that are down there; leave hosts without GPUs out, or choose other adapters");
    }
    if (!byNumber.empty()) {
      tell(Severity::warning,
           "the adapters of " + someOf(byNumber) +
               " have other names than the NICs of the host's file; they are taken "
               "in order",
           "compare the names");
    }
  }

  /// Compute hosts have as many cables as each other; hosts with other numbers may be storage or logins.
  void tellUnlikeHosts() {
    std::map<std::size_t, std::vector<std::string>> byCables;
    for (const int host : m_hosts) {
      byCables[m_ports[static_cast<std::size_t>(host)].size()].push_back(nameOf(host));
    }
    if (byCables.size() > 1) {
      std::string text;
      for (const auto& [cables, names] : byCables) {
        text += (text.empty() ? "" : "; ") + counted(static_cast<std::int64_t>(cables), "cable") + ": " +
                counted(static_cast<std::int64_t>(names.size()), "host") + " (" + someOf(names) + ")";
      }
      tell(Severity::warning, "the hosts have different numbers of cables: " + text,
           "choose the hosts with GPUs; others may be storage or login hosts");
    }
  }

  [[nodiscard]] const std::string& nameOf(int host) const {
    return m_network.hosts[static_cast<std::size_t>(host)].name;
  }

  /// GB/s of a host's cable, and where that is from.
  Bandwidth cableBandwidth(const Port& port, const Bandwidth& ofNic) {
    const std::string what = "a cable between host and switch";
    if (port.bandwidth.isPositive()) {
      count(what, port.bandwidth, NumberOrigin::Source::file, m_network.source);
      return port.bandwidth;
    }
    if (m_options.nicBandwidth) {
      count(what, *m_options.nicBandwidth, NumberOrigin::Source::stated, "option");
      return *m_options.nicBandwidth;
    }
    if (ofNic.isPositive()) {
      count(what, ofNic, NumberOrigin::Source::file, "the NIC of the host's file");
      return ofNic;
    }
    const Bandwidth guess(50);
    if (!m_isNicGuessTold) {
      m_isNicGuessTold = true;
      tell(Severity::warning, "the file gives no speeds: a NIC is assumed to have 50 GB/s (400 Gb/s) per direction",
           "give the NICs' bandwidth if this is wrong");
    }
    count(what, guess, NumberOrigin::Source::guess, "a NIC of 400 Gb/s");
    return guess;
  }

  void addNode(std::string id, std::string kind, std::string box) {
    if (m_result.description.nodes.size() >= kMaxNodes) {
      refuse(ErrorCode::limit, "more than " + std::to_string(kMaxNodes) + " nodes", "choose fewer hosts");
    }
    m_ids.insert(id);
    fabric::NodeDescription node;
    node.id = std::move(id);
    node.kind = std::move(kind);
    node.box = std::move(box);
    m_result.description.nodes.push_back(std::move(node));
  }

  void emitHosts() {
    m_below.assign(m_network.switches.size(), Bandwidth());
    std::vector<std::pair<std::string, const Port*>> cables;
    std::vector<Bandwidth> nicBandwidths;
    for (std::size_t i = 0; i < m_hosts.size(); ++i) {
      const std::string& name = nameOf(m_hosts[i]);
      std::string box = name;
      std::replace(box.begin(), box.end(), '/', '_');
      if (m_models.empty()) {
        emitBareHost(m_hosts[i], box, cables, nicBandwidths);
        continue;
      }
      const Match& match = m_matches[i];
      const ImportResult& inside = match.model->inside;
      if (inside.server->nics.empty()) {
        addNicsAtGpus(m_hosts[i], inside.description, box, cables, nicBandwidths);
      }
      std::vector<bool> isCabled(inside.server->nics.size(), false);
      for (const auto& [nic, port] : match.nics) {
        isCabled[nic] = true;
        cables.emplace_back(name + "." + inside.server->nics[nic].id, port);
        nicBandwidths.push_back(inside.server->nics[nic].bandwidth);
      }
      std::set<std::string_view> unused;
      for (std::size_t nic = 0; nic < isCabled.size(); ++nic) {
        if (!isCabled[nic]) {
          unused.insert(inside.server->nics[nic].id);
        }
      }
      for (const fabric::NodeDescription& node : inside.description.nodes) {
        if (!unused.contains(node.id)) {
          const std::size_t slash = node.box.find('/');
          addNode(name + "." + node.id, node.kind, slash == std::string::npos ? box : box + node.box.substr(slash));
        }
      }
      for (fabric::LinkDescription link : inside.description.links) {
        if (!unused.contains(link.src) && !unused.contains(link.dst)) {
          link.src = name + "." + link.src;
          link.dst = name + "." + link.dst;
          m_result.description.links.push_back(std::move(link));
        }
      }
      for (NumberOrigin origin : inside.origins) {
        count(origin.what, origin.bandwidth, origin.source, origin.detail, origin.links);
      }
    }
    for (const HostModel& model : m_models) {
      for (Finding finding : model.inside.findings) {
        if (finding.where.file.empty()) {
          finding.where.file = model.file;
        }
        m_result.findings.push_back(std::move(finding));
      }
    }
    if (m_models.empty()) {
      tell(
          Severity::warning,
          "the file does not describe the inside of the hosts: each cable of a host counts as one GPU, and the network "
          "alone limits",
          "give a file of a host too: NCCL_TOPO_DUMP_FILE, nvidia-smi topo -m, rocm-smi --showtopo or lstopo's XML");
    }
    for (std::size_t i = 0; i < cables.size(); ++i) {
      const auto& [nic, port] = cables[i];
      const Bandwidth bandwidth = cableBandwidth(*port, nicBandwidths[i]);
      m_cables.push_back({nic, port->switchIndex, bandwidth});
      const auto at = static_cast<std::size_t>(port->switchIndex);
      m_below[at] = m_below[at] + bandwidth;
    }
  }

  /// A host's file without NICs: each cable gets one, at a GPU in order.
  void addNicsAtGpus(int host, const fabric::Description& inside, const std::string& box,
                     std::vector<std::pair<std::string, const Port*>>& cables, std::vector<Bandwidth>& nicBandwidths) {
    const std::string& name = nameOf(host);
    std::vector<std::string> gpus;
    for (const fabric::NodeDescription& node : inside.nodes) {
      if (node.kind == "gpu") {
        gpus.push_back(node.id);
      }
    }
    const auto& ports = m_ports[static_cast<std::size_t>(host)];
    if (!m_isPlaceGuessTold) {
      m_isPlaceGuessTold = true;
      tell(Severity::warning,
           "the host's file has no NICs: each cable is assumed to have one at a GPU, in order, as fast as the cable",
           "give NCCL_TOPO_DUMP_FILE of a job that uses the NICs");
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Port& port = *ports[i];
      const std::string& gpu = gpus[i * gpus.size() / ports.size()];
      const std::string id = name + ".nic" + std::to_string(i);
      addNode(id, "nic", box);
      const Bandwidth bandwidth =
          port.bandwidth.isPositive() ? port.bandwidth : m_options.nicBandwidth.value_or(Bandwidth(50));
      m_result.description.links.push_back({name + "." + gpu, id, toExactText(bandwidth), true, 1});
      count("a GPU's link to its NIC", bandwidth, NumberOrigin::Source::guess, "as fast as the NIC's cable");
      cables.emplace_back(id, &port);
      nicBandwidths.emplace_back();
    }
  }

  void emitBareHost(int host, const std::string& box, std::vector<std::pair<std::string, const Port*>>& cables,
                    std::vector<Bandwidth>& nicBandwidths) {
    const std::string& name = nameOf(host);
    const auto& ports = m_ports[static_cast<std::size_t>(host)];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      addNode(name + ".gpu" + std::to_string(i), "gpu", box);
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Port& port = *ports[i];
      std::string id = name + "." + (port.adapter.empty() ? "nic" + std::to_string(i) : port.adapter);
      if (m_ids.contains(id)) {
        id += ".port" + std::to_string(port.port);
      }
      for (int copy = 2; m_ids.contains(id); ++copy) {
        id = name + ".nic" + std::to_string(i) + "#" + std::to_string(copy);
      }
      addNode(id, "nic", box);
      const Bandwidth bandwidth =
          port.bandwidth.isPositive() ? port.bandwidth : m_options.nicBandwidth.value_or(Bandwidth(50));
      m_result.description.links.push_back({name + ".gpu" + std::to_string(i), id, toExactText(bandwidth), true, 1});
      count("a GPU's link to its NIC", bandwidth, NumberOrigin::Source::guess, "as fast as the NIC's cable");
      cables.emplace_back(std::move(id), &port);
      nicBandwidths.emplace_back();
    }
  }

  /// Switches that lead to no chosen host, or only on one way, are left out.
  std::vector<bool> usefulSwitches() const {
    const std::size_t n = m_network.switches.size();
    std::vector<int> cables(n, 0);
    for (const Cable& cable : m_cables) {
      ++cables[static_cast<std::size_t>(cable.switchIndex)];
    }
    std::vector<std::vector<std::size_t>> neighbours(n);
    for (const ClusterNetwork::Trunk& trunk : m_network.trunks) {
      neighbours[static_cast<std::size_t>(trunk.a)].push_back(static_cast<std::size_t>(trunk.b));
      neighbours[static_cast<std::size_t>(trunk.b)].push_back(static_cast<std::size_t>(trunk.a));
    }
    std::vector<std::size_t> degree(n);
    std::vector<bool> isUseful(n, true);
    std::vector<std::size_t> work;
    for (std::size_t i = 0; i < n; ++i) {
      std::sort(neighbours[i].begin(), neighbours[i].end());
      neighbours[i].erase(std::unique(neighbours[i].begin(), neighbours[i].end()), neighbours[i].end());
      degree[i] = neighbours[i].size();
      work.push_back(i);
    }
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      if (!isUseful[at] || cables[at] > 0 || degree[at] > 1) {
        continue;
      }
      isUseful[at] = false;
      for (const std::size_t next : neighbours[at]) {
        if (isUseful[next]) {
          --degree[next];
          work.push_back(next);
        }
      }
    }
    return isUseful;
  }

  void emitSwitches() {
    const std::vector<bool> isUseful = usefulSwitches();
    std::vector<std::string> idOf(m_network.switches.size());
    std::size_t left = 0;
    std::size_t aggregating = 0;
    for (std::size_t i = 0; i < idOf.size(); ++i) {
      if (!isUseful[i]) {
        ++left;
        continue;
      }
      idOf[i] = m_network.switches[i].name;
      for (int copy = 2; m_ids.contains(idOf[i]); ++copy) {
        idOf[i] = m_network.switches[i].name + "#" + std::to_string(copy);
      }
      addNode(idOf[i], "switch", {});
      if (m_network.switches[i].aggregates) {
        m_result.description.nodes.back().aggregation = true;
        m_result.description.nodes.back().multicast = true;
        ++aggregating;
      }
    }
    if (left > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(left), "switch", "switches") +
                               " left out: no way between the hosts leads through");
    }
    if (aggregating > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(aggregating), "switch", "switches") +
                               " can copy and sum (an aggregation node, SHARP, is on them)");
    }
    for (const Cable& cable : m_cables) {
      m_result.description.links.push_back(
          {cable.nic, idOf[static_cast<std::size_t>(cable.switchIndex)], toExactText(cable.bandwidth), true, 1});
    }
    emitTrunks(isUseful, idOf);
  }

  void emitTrunks(const std::vector<bool>& isUseful, const std::vector<std::string>& idOf) {
    const std::string what = "a cable between switches";
    bool isGuessed = false;
    for (const ClusterNetwork::Trunk& trunk : m_network.trunks) {
      const auto a = static_cast<std::size_t>(trunk.a);
      const auto b = static_cast<std::size_t>(trunk.b);
      if (!isUseful[a] || !isUseful[b]) {
        continue;
      }
      Bandwidth bandwidth = trunk.bandwidth;
      if (bandwidth.isPositive()) {
        count(what, bandwidth, NumberOrigin::Source::file, m_network.source, static_cast<std::size_t>(trunk.count));
      } else if (m_options.uplinkBandwidth) {
        bandwidth = *m_options.uplinkBandwidth;
        count(what, bandwidth, NumberOrigin::Source::stated, "option", static_cast<std::size_t>(trunk.count));
      } else {
        bandwidth = belowAll(a);
        isGuessed = true;
        count(what, bandwidth, NumberOrigin::Source::guess, "as much as all hosts below",
              static_cast<std::size_t>(trunk.count));
      }
      m_result.description.links.push_back({idOf[a], idOf[b], toExactText(bandwidth), true, trunk.count});
    }
    if (isGuessed) {
      tell(Severity::warning,
           "the file gives no speeds between switches: each is assumed to pass on all that its hosts can send",
           "give the bandwidth of an uplink if the network is oversubscribed");
    }
  }

  /// What the hosts below a switch of a tree can send together.
  Bandwidth belowAll(std::size_t top) {
    if (m_children.empty()) {
      m_children.resize(m_network.switches.size());
      for (const ClusterNetwork::Trunk& trunk : m_network.trunks) {
        m_children[static_cast<std::size_t>(trunk.b)].push_back(static_cast<std::size_t>(trunk.a));
      }
    }
    Bandwidth sum;
    std::vector<std::size_t> work{top};
    std::set<std::size_t> seen{top};
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      sum = sum + m_below[at];
      for (const std::size_t child : m_children[at]) {
        if (seen.insert(child).second) {
          work.push_back(child);
        }
      }
    }
    return sum;
  }

  struct Cable {
    std::string nic;
    int switchIndex = 0;
    Bandwidth bandwidth;
  };

  const ClusterNetwork& m_network;
  const std::vector<HostModel>& m_models;
  const NetworkOptions& m_options;
  const std::string& m_fileName;
  std::vector<std::vector<const Port*>> m_ports;  // of each host
  std::vector<int> m_hosts;                       // chosen, in order
  std::vector<Match> m_matches;                   // of each chosen host, where there are models
  std::vector<Cable> m_cables;
  std::vector<Bandwidth> m_below;  // of each switch: the cables of hosts
  std::vector<std::vector<std::size_t>> m_children;
  std::set<std::string, std::less<>> m_ids;
  std::map<std::tuple<std::string, std::string, int, std::string>, NumberOrigin> m_origins;
  bool m_isNicGuessTold = false;
  bool m_isPlaceGuessTold = false;
  ImportResult m_result;
};

}  // namespace

bool matchesPattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || lower(pattern[p]) == lower(text[t]))) {
      ++t;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

std::string_view toString(NumberOrigin::Source source) {
  switch (source) {
    case NumberOrigin::Source::file:
      return "file";
    case NumberOrigin::Source::table:
      return "table";
    case NumberOrigin::Source::guess:
      return "guess";
    case NumberOrigin::Source::stated:
      break;
  }
  return "stated";
}

Result<ImportResult> joinHosts(const ClusterNetwork& network, const std::vector<HostModel>& models,
                               const NetworkOptions& options, const std::string& fileName) {
  return guarded([&] { return Joining(network, models, options, fileName).run(); },
                 {.overflowFix = "use smaller numbers",
                  .memory = "the cluster does not fit into memory",
                  .memoryFix = "choose fewer hosts",
                  .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
