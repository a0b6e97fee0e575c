// SPDX-License-Identifier: Apache-2.0
#include "io/cluster_network.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/cluster_hosts.hpp"
#include "io/limits.hpp"

namespace coppice::io {
namespace {

/// The number of a GPU of a host's file: 3 of "gpu3".
std::optional<int> gpuNumber(std::string_view id) {
  int number = 0;
  if (!id.starts_with("gpu")) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(id.data() + 3, id.data() + id.size(), number);
  return error == std::errc{} && end == id.data() + id.size() ? std::optional(number) : std::nullopt;
}

bool isNvSwitchId(std::string_view id) {
  return id == "nvswitch" || id.ends_with(".nvswitch");
}

/// One run of joinHosts.
class Joining {
public:
  Joining(const ClusterNetwork& network, const std::vector<HostModel>& models, const NetworkOptions& options,
          const std::string& fileName)
      : m_network(network), m_models(models), m_options(options), m_fileName(fileName) {}

  ImportResult run() {
    ChosenHosts chosen = chooseHosts(m_network, m_models, m_options, m_fileName);
    m_ports = std::move(chosen.ports);
    m_hosts = std::move(chosen.hosts);
    m_matches = std::move(chosen.matches);
    m_result.findings = std::move(chosen.findings);
    emitHosts();
    emitSwitches();
    dropLoneGpus();
    m_result.description.name = m_network.name;
    std::map<const NumberOrigin*, int> places{{nullptr, -1}};
    for (auto& [key, origin] : m_origins) {
      places.emplace(&origin, static_cast<int>(m_result.origins.size()));
      m_result.origins.push_back(origin);
    }
    for (const NumberOrigin* origin : m_originOfLink) {
      m_result.originOf.push_back(places.at(origin));
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

  /// The origin of a number, which the link that has it is added with.
  const NumberOrigin* count(const std::string& what, const Bandwidth& bandwidth, NumberOrigin::Source source,
                            std::string detail, std::size_t links = 1) {
    const auto key = std::make_tuple(what, toFraction(bandwidth), static_cast<int>(source), detail);
    NumberOrigin& origin =
        m_origins.try_emplace(key, NumberOrigin{what, bandwidth, 0, source, std::move(detail)}).first->second;
    origin.links += links;
    return &origin;
  }

  void addLink(fabric::LinkDescription link, const NumberOrigin* origin) {
    m_result.description.links.push_back(std::move(link));
    m_originOfLink.push_back(origin);
  }

  [[nodiscard]] const std::string& nameOf(int host) const {
    return m_network.hosts[static_cast<std::size_t>(host)].name;
  }

  struct NicNumber {
    Bandwidth bandwidth = {};  ///< 0 = unknown
    bool isGuess = false;      ///< the reader of the host's file assumed it
  };

  /// GB/s of a host's cable, and where that is from.
  const NumberOrigin* cableNumber(const Port& port, const NicNumber& ofNic) {
    const std::string what = "a cable between host and switch";
    if (port.bandwidth.isPositive()) {
      return count(what, port.bandwidth, NumberOrigin::Source::file, m_network.source);
    }
    if (m_options.nicBandwidth) {
      return count(what, *m_options.nicBandwidth, NumberOrigin::Source::stated, "option");
    }
    if (ofNic.bandwidth.isPositive()) {
      return count(what, ofNic.bandwidth, ofNic.isGuess ? NumberOrigin::Source::guess : NumberOrigin::Source::file,
                   ofNic.isGuess ? "a NIC of the generation of the GPUs" : "the NIC of the host's file");
    }
    const Bandwidth guess(50);
    if (!m_isNicGuessTold) {
      m_isNicGuessTold = true;
      tell(Severity::warning, "the file gives no speeds: a NIC is assumed to have 50 GB/s (400 Gb/s) per direction",
           "give the NICs' bandwidth if this is wrong");
    }
    return count(what, guess, NumberOrigin::Source::guess, "a NIC of 400 Gb/s");
  }

  void addNode(std::string id, std::string kind, std::string box) {
    if (m_result.description.nodes.size() >= kMaxNetworkNodes) {
      refuse(ErrorCode::limit, "more than " + std::to_string(kMaxNetworkNodes) + " nodes", "choose fewer hosts");
    }
    m_ids.insert(id);
    fabric::NodeDescription node;
    node.id = std::move(id);
    node.kind = std::move(kind);
    node.box = std::move(box);
    m_result.description.nodes.push_back(std::move(node));
  }

  /// What a host says of its GPUs' NVLink domains; nullptr: nothing.
  [[nodiscard]] const HostDomains* domainsOf(int host) const {
    const std::string name = lowered(nameOf(host));
    auto found = m_said.find(name);
    if (found == m_said.end()) {
      found = m_said.find(name.substr(0, name.find('.')));
    }
    return found != m_said.end() && isSameHost(found->second->host, name) ? found->second : nullptr;
  }

  /// The NVSwitch of each GPU of each chosen host, where that is not the host's own or there is none.
  void findDomains() {
    std::map<std::string, std::set<int>> hostsOf;  // by domain
    m_domains.resize(m_hosts.size());
    for (const HostDomains& entry : m_network.nvlink) {
      const std::string name = lowered(entry.host);
      m_said.emplace(name, &entry);
      m_said.emplace(name.substr(0, name.find('.')), &entry);
    }
    if (m_models.empty()) {
      if (!m_network.nvlink.empty()) {
        tell(Severity::warning, "what is said of NVLink domains is not used: no file describes the inside of a host",
             "add a file of a host, such as NCCL_TOPO_DUMP_FILE");
      }
      return;
    }
    std::vector<std::string> outside;
    std::vector<std::string> degraded;
    std::vector<std::string> apart;
    std::vector<std::string> silent;
    std::size_t domainHosts = 0;
    for (std::size_t i = 0; i < m_hosts.size(); ++i) {
      const HostDomains* said = domainsOf(m_hosts[i]);
      const HostModel& model = *m_matches[i].model;
      if (said == nullptr) {
        if (model.domainHosts > 1 && m_network.nvlink.empty()) {
          domainHosts = static_cast<std::size_t>(model.domainHosts);
          const std::string key = "#" + std::to_string(i / domainHosts);
          m_domains[i].whole = key;
          hostsOf[key].insert(static_cast<int>(i));
        } else if (!m_network.nvlink.empty()) {
          silent.push_back(nameOf(m_hosts[i]));
        }
        continue;
      }
      for (const auto& [pair, why] : said->apart) {
        apart.push_back(nameOf(m_hosts[i]) + " GPU" + std::to_string(pair.first) + " and GPU" +
                        std::to_string(pair.second) + " (" + why + ")");
      }
      for (const auto& [number, gpu] : said->gpus) {
        const std::string name = nameOf(m_hosts[i]) + " GPU" + std::to_string(number);
        if (gpu.isOutside()) {
          m_domains[i].outside.insert(number);
          outside.push_back(name + " (" + gpu.state + (gpu.status.empty() ? "" : ", " + gpu.status) + ")");
        } else if (!gpu.cluster.empty()) {
          const std::string key = gpu.cluster + "/" + gpu.clique;
          m_domains[i].ofGpu[number] = key;
          hostsOf[key].insert(static_cast<int>(i));
        }
        if (!gpu.health.empty() && lowered(gpu.health) != "full") {
          degraded.push_back(name);
        }
      }
    }
    std::size_t shared = 0;
    for (const auto& [key, hosts] : hostsOf) {
      shared += hosts.size() > 1 ? 1 : 0;
    }
    std::vector<std::pair<int, std::string>> byFirst;
    for (const auto& [key, hosts] : hostsOf) {
      if (hosts.size() > 1) {
        byFirst.emplace_back(*hosts.begin(), key);
      }
    }
    std::sort(byFirst.begin(), byFirst.end());
    for (const auto& [first, key] : byFirst) {
      m_sharedNvSwitches[key] = "nvlink" + (shared > 1 ? std::to_string(m_sharedNvSwitches.size()) : std::string());
      tell(Severity::note, counted(static_cast<std::int64_t>(hostsOf[key].size()), "host") +
                               " share the NVLink domain " + inQuotes(m_sharedNvSwitches[key]) + ", from " +
                               nameOf(m_hosts[static_cast<std::size_t>(first)]) + " on");
    }
    if (domainHosts > 0) {
      tell(Severity::warning,
           "the host's file describes " + std::to_string(domainHosts) +
               " hosts of one NVLink domain without their names; as many hosts of the network, in the order of their "
               "names, are taken for one",
           "add the output of nvidia-smi -q of each host (its section Fabric says the domain)");
    }
    if (!outside.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(outside.size()), "GPU") +
               " without NVLink, as their fabric state is not completed: " + someOf(outside) +
               "; one that nothing else joins is left out",
           "look at nvidia-smi -q, section Fabric, and at the fabric manager's log");
    }
    if (!degraded.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(degraded.size()), "GPU") +
               " whose NVLinks do not have their full bandwidth: " + someOf(degraded) + "; they are counted as full",
           "look at: nvidia-smi nvlink -s");
    }
    if (!apart.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(apart.size()), "pair") +
               " of GPUs without access to each other's memory: " + someOf(apart) +
               "; their links are counted as they are",
           "look at nvidia-smi topo -p2p n; where NVLink is not given, NCCL goes through the host");
    }
    if (!silent.empty()) {
      tell(Severity::note,
           counted(static_cast<std::int64_t>(silent.size()), "host") +
               " of which no file says its NVLink domain; they have one of their own: " + someOf(silent));
    }
    std::set<const HostDomains*> used;
    for (const int host : m_hosts) {
      used.insert(domainsOf(host));
    }
    std::vector<std::string> unused;
    for (const HostDomains& said : m_network.nvlink) {
      if (!used.contains(&said)) {
        unused.push_back(said.host);
      }
    }
    if (!unused.empty()) {
      tell(Severity::warning,
           "what is said of the NVLink domains of " + someOf(unused) +
               " is not used: no host of the fabric has the name",
           "name the file as the host (dgx07.txt), or give lines that begin with the host's name and a colon (pdsh)");
    }
  }

  /// Where a GPU's links to the host's NVSwitch end; empty: nowhere. The node is there then.
  std::string nvSwitchOf(std::size_t host, std::string_view gpu, const std::string& own, const std::string& box) {
    const Domains& domains = m_domains[host];
    const auto number = gpuNumber(gpu);
    if (number && domains.outside.contains(*number)) {
      return {};
    }
    std::string key = domains.whole;
    if (number && domains.ofGpu.contains(*number)) {
      key = domains.ofGpu.at(*number);
    }
    std::string id = own;
    bool isShared = false;
    if (const auto shared = m_sharedNvSwitches.find(key); shared != m_sharedNvSwitches.end()) {
      id = shared->second;
      isShared = true;
    } else if (!key.empty()) {
      // Cliques of one host.
      const auto [entry, isNew] = m_ownNvSwitches.try_emplace({host, key}, 0);
      if (isNew) {
        entry->second = static_cast<int>(std::count_if(m_ownNvSwitches.begin(), m_ownNvSwitches.end(),
                                                       [&](const auto& e) { return e.first.first == host; }));
      }
      id += entry->second > 1 ? "#" + std::to_string(entry->second) : "";
    }
    if (!m_ids.contains(id)) {
      addNode(id, "switch", isShared ? std::string() : box);
    }
    return id;
  }

  /// GPUs that are outside of their domain and that nothing else joins.
  void dropLoneGpus() {
    std::set<std::string> outside;
    for (std::size_t i = 0; i < m_domains.size(); ++i) {
      for (const int number : m_domains[i].outside) {
        outside.insert(nameOf(m_hosts[i]) + ".gpu" + std::to_string(number));
      }
    }
    if (outside.empty()) {
      return;
    }
    for (const fabric::LinkDescription& link : m_result.description.links) {
      outside.erase(link.src);
      outside.erase(link.dst);
    }
    std::erase_if(m_result.description.nodes,
                  [&](const fabric::NodeDescription& node) { return outside.contains(node.id); });
  }

  /// A link inside a host, with its NVSwitch as its domain has it.
  void addInsideLink(std::size_t host, fabric::LinkDescription link, const std::string& box,
                     const NumberOrigin* origin) {
    const std::string& name = nameOf(m_hosts[host]);
    const bool isFromSwitch = isNvSwitchId(link.src);
    const bool isToSwitch = isNvSwitchId(link.dst);
    const auto isOutside = [&](const std::string& id) {
      const auto number = gpuNumber(id);
      return number && m_domains[host].outside.contains(*number);
    };
    if (isFromSwitch != isToSwitch) {
      const std::string own = name + "." + (isFromSwitch ? link.src : link.dst);
      const std::string hub = nvSwitchOf(host, isFromSwitch ? link.dst : link.src, own, box);
      if (hub.empty()) {
        return;
      }
      link.src = isFromSwitch ? hub : name + "." + link.src;
      link.dst = isToSwitch ? hub : name + "." + link.dst;
    } else {
      if (gpuNumber(link.src) && gpuNumber(link.dst) && (isOutside(link.src) || isOutside(link.dst))) {
        return;
      }
      link.src = name + "." + link.src;
      link.dst = name + "." + link.dst;
    }
    const auto links = static_cast<std::size_t>(link.count);
    addLink(std::move(link), origin == nullptr
                                 ? nullptr
                                 : count(origin->what, origin->bandwidth, origin->source, origin->detail, links));
  }

  void emitHosts() {
    findDomains();
    m_below.assign(m_network.switches.size(), Bandwidth());
    std::vector<std::pair<std::string, const Port*>> cables;
    std::vector<NicNumber> nicBandwidths;
    for (std::size_t i = 0; i < m_hosts.size(); ++i) {
      const std::string& name = nameOf(m_hosts[i]);
      std::string box = name;
      std::replace(box.begin(), box.end(), '/', '_');
      if (m_models.empty()) {
        emitBareHost(m_hosts[i], box, cables, nicBandwidths);
        continue;
      }
      const HostMatch& match = m_matches[i];
      const ImportResult& inside = match.model->inside;
      if (inside.server->nics.empty() && !m_ports[static_cast<std::size_t>(m_hosts[i])].empty()) {
        addNicsAtGpus(m_hosts[i], inside.description, box, cables, nicBandwidths);
      }
      std::vector<bool> isCabled(inside.server->nics.size(), false);
      for (const auto& [nic, port] : match.nics) {
        isCabled[nic] = true;
        cables.emplace_back(name + "." + inside.server->nics[nic].id, port);
        nicBandwidths.push_back({inside.server->nics[nic].bandwidth, inside.server->nicBandwidth.has_value()});
      }
      std::set<std::string_view> unused;
      for (std::size_t nic = 0; nic < isCabled.size(); ++nic) {
        if (!isCabled[nic]) {
          unused.insert(inside.server->nics[nic].id);
        }
      }
      for (const fabric::NodeDescription& node : inside.description.nodes) {
        if (!unused.contains(node.id) && !isNvSwitchId(node.id)) {
          const std::size_t slash = node.box.find('/');
          addNode(name + "." + node.id, node.kind, slash == std::string::npos ? box : box + node.box.substr(slash));
        }
      }
      for (std::size_t l = 0; l < inside.description.links.size(); ++l) {
        const fabric::LinkDescription& link = inside.description.links[l];
        if (!unused.contains(link.src) && !unused.contains(link.dst)) {
          const int origin = l < inside.originOf.size() ? inside.originOf[l] : -1;
          addInsideLink(i, link, box, origin < 0 ? nullptr : &inside.origins[static_cast<std::size_t>(origin)]);
        }
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
      const NumberOrigin* number = cableNumber(*port, nicBandwidths[i]);
      m_cables.push_back({nic, port->switchIndex, number});
      const auto at = static_cast<std::size_t>(port->switchIndex);
      m_below[at] = m_below[at] + number->bandwidth;
    }
  }

  /// A host's file without NICs: each cable gets one, at a GPU in order.
  void addNicsAtGpus(int host, const fabric::Description& inside, const std::string& box,
                     std::vector<std::pair<std::string, const Port*>>& cables, std::vector<NicNumber>& nicBandwidths) {
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
      addLink({name + "." + gpu, id, toExactText(bandwidth), true, 1},
              count("a GPU's link to its NIC", bandwidth, NumberOrigin::Source::guess, "as fast as the NIC's cable"));
      cables.emplace_back(id, &port);
      nicBandwidths.emplace_back();
    }
  }

  void emitBareHost(int host, const std::string& box, std::vector<std::pair<std::string, const Port*>>& cables,
                    std::vector<NicNumber>& nicBandwidths) {
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
      addLink({name + ".gpu" + std::to_string(i), id, toExactText(bandwidth), true, 1},
              count("a GPU's link to its NIC", bandwidth, NumberOrigin::Source::guess, "as fast as the NIC's cable"));
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
      addLink(
          {cable.nic, idOf[static_cast<std::size_t>(cable.switchIndex)], toExactText(cable.number->bandwidth), true, 1},
          cable.number);
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
      const NumberOrigin* number = nullptr;
      if (bandwidth.isPositive()) {
        number =
            count(what, bandwidth, NumberOrigin::Source::file, m_network.source, static_cast<std::size_t>(trunk.count));
      } else if (m_options.uplinkBandwidth) {
        bandwidth = *m_options.uplinkBandwidth;
        number = count(what, bandwidth, NumberOrigin::Source::stated, "option", static_cast<std::size_t>(trunk.count));
      } else {
        bandwidth = belowAll(a);
        isGuessed = true;
        number = count(what, bandwidth, NumberOrigin::Source::guess, "as much as all hosts below",
                       static_cast<std::size_t>(trunk.count));
      }
      addLink({idOf[a], idOf[b], toExactText(bandwidth), true, trunk.count}, number);
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

  /// Of a host: the domain of each GPU that says one, or of all.
  struct Domains {
    std::string whole = {};
    std::map<int, std::string> ofGpu = {};
    std::set<int> outside = {};
  };

  struct Cable {
    std::string nic;
    int switchIndex = 0;
    const NumberOrigin* number = nullptr;
  };

  const ClusterNetwork& m_network;
  const std::vector<HostModel>& m_models;
  const NetworkOptions& m_options;
  const std::string& m_fileName;
  std::vector<std::vector<const Port*>> m_ports;          // of each host
  std::vector<int> m_hosts;                               // chosen, in order
  std::vector<HostMatch> m_matches;                       // of each chosen host, where there are models
  std::map<std::string, const HostDomains*> m_said;       // by the host's name, with and without its domain
  std::vector<Domains> m_domains;                         // of each chosen host
  std::map<std::string, std::string> m_sharedNvSwitches;  // by domain: the node's id
  std::map<std::pair<std::size_t, std::string>, int> m_ownNvSwitches;  // by host and domain: its number
  std::vector<Cable> m_cables;
  std::vector<Bandwidth> m_below;  // of each switch: the cables of hosts
  std::vector<std::vector<std::size_t>> m_children;
  std::set<std::string, std::less<>> m_ids;
  std::map<std::tuple<std::string, std::string, int, std::string>, NumberOrigin> m_origins;
  std::vector<const NumberOrigin*> m_originOfLink;  // of each link, in m_origins
  bool m_isNicGuessTold = false;
  bool m_isPlaceGuessTold = false;
  ImportResult m_result;
};

}  // namespace

std::string_view toString(NumberSource source) {
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
