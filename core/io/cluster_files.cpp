// SPDX-License-Identifier: Apache-2.0
#include "io/cluster_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "base/text.hpp"
#include "io/nvlink_domains.hpp"
#include "io/pasted_text.hpp"

namespace coppice::io {
namespace {

std::string stemOf(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.'));
}

/// Tells where the numbers inside a host are from, by what joins what.
void giveOrigins(ImportResult& host, const ClusterFile& file, const ImportOptions& options) {
  using Source = NumberSource;
  const bool isNccl = file.format == FabricFormat::ncclXml;
  const bool isHint = isNccl && file.text.find("<gpu") == std::string::npos;
  const bool isAmd = isNccl && file.text.find("<xgmi") != std::string::npos;
  const std::string name = std::filesystem::path(file.name).filename().string();
  std::map<std::string, std::string> kinds;
  for (const fabric::NodeDescription& node : host.description.nodes) {
    kinds[node.id] = node.kind;
  }
  std::map<std::pair<std::string, std::string>, int> places;
  for (const fabric::LinkDescription& link : host.description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (!bandwidth) {
      host.originOf.push_back(-1);
      continue;
    }
    const auto isGpu = [&](const std::string& id) { return kinds[id] == "gpu"; };
    const auto isNvSwitch = [](const std::string& id) { return id.ends_with("nvswitch"); };
    const bool isFast = (isGpu(link.src) && isGpu(link.dst)) || isNvSwitch(link.src) || isNvSwitch(link.dst);
    NumberOrigin origin{isFast ? "a link between GPUs, or to their switch" : "a PCIe or CPU link of a host",
                        *bandwidth};
    const auto& stated = isFast ? options.nvidiaSmi.linkBandwidth : options.nvidiaSmi.pcieBandwidth;
    if (stated && (!isNccl || (isHint && isFast))) {
      origin.source = Source::stated;
      origin.detail = "option";
    } else if (isNccl && isFast) {
      origin.source = Source::table;
      origin.detail = (options.rates == LinkRates::nominal ? "data sheets of the makers, by the generation in "
                       : isAmd                             ? "RCCL's src/graph/topo.h, by the generation in "
                                                           : "NCCL's src/graph/topo.h (2.30), by the generation in ") +
                      name;
    } else if (isNccl) {
      origin.detail = "speed and width in " + name;
    } else if (file.format == FabricFormat::hwloc) {
      origin.detail = "hwloc's numbers in " + name;
    } else if (isFast && host.server->linkSource) {
      origin.source = *host.server->linkSource;
      origin.detail = host.server->linkDetail + " in " + name;
    } else {
      origin.source = Source::guess;
      origin.detail = "PCIe of the generation that the links between GPUs in " + name + " suggest";
    }
    const auto [place, isNew] =
        places.try_emplace({origin.what, toFraction(*bandwidth)}, static_cast<int>(host.origins.size()));
    if (isNew) {
      host.origins.push_back(std::move(origin));
    }
    host.origins[static_cast<std::size_t>(place->second)].links += static_cast<std::size_t>(std::max(link.count, 0));
    host.originOf.push_back(place->second);
  }
}

/// Gives the links of the chosen origins their numbers.
void applySettings(ImportResult& result, const std::vector<NumberSetting>& settings, const std::string& fileName) {
  std::vector<std::optional<Bandwidth>> values(result.origins.size());
  for (const NumberSetting& setting : settings) {
    bool isFound = false;
    for (std::size_t i = 0; i < result.origins.size(); ++i) {
      const NumberOrigin& origin = result.origins[i];
      if (origin.what == setting.what && (!setting.given || *setting.given == origin.bandwidth)) {
        values[i] = setting.value;
        isFound = true;
      }
    }
    if (!isFound) {
      result.findings.push_back({Severity::warning, ErrorCode::badUsage,
                                 "no number is set: the fabric has no links that are " + inQuotes(setting.what) +
                                     (setting.given ? " with " + toExactText(*setting.given) + " GB/s" : std::string()),
                                 "set one of those that the import lists", Place{fileName}});
    }
  }
  for (std::size_t i = 0; i < result.originOf.size() && i < result.description.links.size(); ++i) {
    const int origin = result.originOf[i];
    if (origin >= 0 && values[static_cast<std::size_t>(origin)]) {
      result.description.links[i].bandwidth = toExactText(*values[static_cast<std::size_t>(origin)]);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      NumberOrigin& origin = result.origins[i];
      origin.given = origin.bandwidth;
      origin.bandwidth = *values[i];
      origin.source = NumberSource::stated;
      origin.detail = "set in place of " + toExactText(origin.given);
    }
  }
}

/// The networks as planes of one cluster.
ClusterNetwork merged(std::vector<ReadNetwork>& networks) {
  ClusterNetwork all = std::move(networks.front().network);
  std::map<std::string, int> hosts;
  std::map<std::string, int> names;
  for (std::size_t i = 0; i < all.hosts.size(); ++i) {
    hosts.emplace(all.hosts[i].name, static_cast<int>(i));
  }
  for (const ClusterNetwork::Switch& entry : all.switches) {
    ++names[entry.name];
  }
  for (std::size_t n = 1; n < networks.size(); ++n) {
    ClusterNetwork& more = networks[n].network;
    const int base = static_cast<int>(all.switches.size());
    for (ClusterNetwork::Switch& entry : more.switches) {
      const std::string plain = entry.name;
      for (int copy = 2; names.contains(entry.name); ++copy) {
        entry.name = plain + "#" + std::to_string(copy);
      }
      ++names[entry.name];
      all.switches.push_back(std::move(entry));
    }
    for (ClusterNetwork::Port port : more.ports) {
      const std::string& host = more.hosts[static_cast<std::size_t>(port.host)].name;
      const auto [entry, isNew] = hosts.try_emplace(host, static_cast<int>(all.hosts.size()));
      if (isNew) {
        all.hosts.push_back({host});
      }
      port.host = entry->second;
      port.switchIndex += base;
      all.ports.push_back(std::move(port));
    }
    for (ClusterNetwork::Trunk trunk : more.trunks) {
      trunk.a += base;
      trunk.b += base;
      all.trunks.push_back(trunk);
    }
  }
  return all;
}

/// A host and the file that describes it.
struct NamedHost {
  std::string name;
  const HostModel* model = nullptr;
};

/// Hosts without a network's file, joined as the options say.
ClusterNetwork networkOf(const std::vector<NamedHost>& hosts, ScaleOut scaleOut) {
  ClusterNetwork network;
  network.name = counted(static_cast<std::int64_t>(hosts.size()), "host");
  network.source = "the NIC of the host's file";
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    network.hosts.push_back({hosts[i].name});
    if (scaleOut == ScaleOut::none) {
      continue;
    }
    const auto& nics = hosts[i].model->inside.server->nics;
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      const int at = scaleOut == ScaleOut::rails           ? static_cast<int>(nic)
                     : scaleOut == ScaleOut::oddEvenPlanes ? static_cast<int>(nic % 2)
                                                           : 0;
      while (static_cast<int>(network.switches.size()) <= at) {
        const std::string number = std::to_string(network.switches.size());
        network.switches.push_back({scaleOut == ScaleOut::rails           ? "rail" + number
                                    : scaleOut == ScaleOut::oddEvenPlanes ? "plane" + number
                                                                          : "network",
                                    false});
      }
      network.ports.push_back({static_cast<int>(i), nics[nic].device.empty() ? nics[nic].id : nics[nic].device, 1, at,
                               nics[nic].bandwidth});
    }
  }
  return network;
}

/// A host's file that describes several hosts of one NVLink domain, as one of them: the first. They are alike but for
/// their NICs' numbers, or the file says more than a copy can.
HostModel firstOfDomain(HostModel model) {
  std::set<std::string> boxes;
  for (const fabric::NodeDescription& node : model.inside.description.nodes) {
    if (const std::size_t slash = node.box.find('/'); slash != std::string::npos) {
      boxes.insert(node.box.substr(slash + 1));
    }
  }
  if (boxes.size() < 2) {
    return model;
  }
  const std::string first = "host0";
  std::map<std::string, std::string> idOf;
  fabric::Description& all = model.inside.description;
  fabric::Description one;
  one.name = all.name;
  int gpus = 0;
  for (fabric::NodeDescription& node : all.nodes) {
    const bool isFirst = node.box.ends_with("/" + first);
    if (!isFirst && node.box.find('/') != std::string::npos) {
      continue;
    }
    const std::string old = node.id;
    node.id = node.kind == "gpu"             ? "gpu" + std::to_string(gpus++)
              : old.starts_with(first + ".") ? old.substr(first.size() + 1)
                                             : old;
    node.box = "box0";
    idOf.emplace(old, node.id);
    one.nodes.push_back(node);
  }
  for (fabric::LinkDescription& link : all.links) {
    const auto from = idOf.find(link.src);
    const auto to = idOf.find(link.dst);
    if (from != idOf.end() && to != idOf.end()) {
      link.src = from->second;
      link.dst = to->second;
      one.links.push_back(link);
    }
  }
  auto& nics = model.inside.server->nics;
  std::erase_if(nics, [&](const ImportedServer::Nic& nic) { return !idOf.contains(nic.id); });
  for (ImportedServer::Nic& nic : nics) {
    nic.id = idOf.at(nic.id);
  }
  model.domainHosts = static_cast<int>(boxes.size());
  all = std::move(one);
  return model;
}

/// The host that a file without names in its lines is of: its name begins with the host's ("dgx01-fabric.txt").
std::string hostOfFile(const std::string& fileName, const std::vector<std::string>& hosts) {
  const std::string stem = std::filesystem::path(fileName).stem().string();
  std::string best;
  for (const std::string& host : hosts) {
    const bool isStart = stem.starts_with(host) && (stem.size() == host.size() ||
                                                    std::isalnum(static_cast<unsigned char>(stem[host.size()])) == 0);
    if (isStart && host.size() > best.size()) {
      best = host;
    }
  }
  return best.empty() ? (hosts.size() == 1 ? hosts.front() : stemOf(fileName)) : best;
}

/// The hosts that files without a network are of: those whose NVLink domains are told by name, else one of each file.
std::vector<NamedHost> hostsOf(const std::vector<HostModel>& models, const std::vector<HostDomains>& domains) {
  std::vector<NamedHost> hosts;
  if (!domains.empty() && !models.empty()) {
    for (const HostDomains& entry : domains) {
      const auto own = std::find_if(models.begin(), models.end(),
                                    [&](const HostModel& model) { return model.hostName == entry.host; });
      hosts.push_back({entry.host, own == models.end() ? &models.front() : &*own});
    }
  }
  for (const HostModel& model : models) {
    // A model of hosts that are told of is none of its own.
    const bool isTold =
        std::any_of(hosts.begin(), hosts.end(), [&](const NamedHost& host) { return host.name == model.hostName; });
    if (!isTold && (hosts.empty() || models.size() > 1 || hosts.front().model->hostName != model.hostName)) {
      hosts.push_back({model.hostName, &model});
    }
  }
  return hosts;
}

}  // namespace

bool isHostFormat(FabricFormat format) {
  return format == FabricFormat::ncclXml || format == FabricFormat::nvidiaSmi || format == FabricFormat::rocmSmi ||
         format == FabricFormat::hwloc;
}

Result<ImportResult> importCluster(const std::vector<ClusterFile>& files, const ImportOptions& options) {
  if (files.empty()) {
    return Error{ErrorCode::badUsage, "there is no file to import", "name the files of a cluster"};
  }
  if (files.size() == 1) {
    auto imported = importFabric(files[0].text, files[0].format, files[0].name, options);
    if (imported && imported->origins.empty() && isHostFormat(files[0].format)) {
      giveOrigins(*imported, files[0], options);
    }
    if (imported) {
      applySettings(*imported, options.numbers, files[0].name);
    }
    return imported;
  }
  const bool hasNetwork =
      std::any_of(files.begin(), files.end(), [](const ClusterFile& file) { return isNetworkFormat(file.format); });
  const bool hasDomains = std::any_of(
      files.begin(), files.end(), [](const ClusterFile& file) { return file.format == FabricFormat::nvlinkDomains; });
  const bool isJoined = options.box.scaleOut != ScaleOut::none && options.box.scaleOut != ScaleOut::open;
  std::vector<ReadNetwork> networks;
  std::vector<HostModel> hosts;
  std::vector<NvlinkDomains> domains;
  std::vector<Finding> findings;
  std::string networkName;
  for (const ClusterFile& file : files) {
    if (isNetworkFormat(file.format)) {
      const auto same =
          std::find_if(files.begin(), files.end(), [&](const ClusterFile& other) { return other.text == file.text; });
      if (&*same != &file) {
        return Error{ErrorCode::badUsage, "the network is given twice: as " + inQuotes(same->name) + " and here",
                     "give each plane of the network once", Place{file.name, 0, 0, {}}};
      }
      auto network = readNetwork(file.text, file.format, file.name);
      if (!network) {
        return network.error();
      }
      findings.insert(findings.end(), network->findings.begin(), network->findings.end());
      networks.push_back(*std::move(network));
      networkName = networkName.empty() ? file.name : networkName;
    } else if (file.format == FabricFormat::nvlinkDomains) {
      const auto decoded = utf8OfUtf16(file.text);
      auto read = readNvlinkDomains(decoded ? *decoded : file.text, file.name);
      if (!read) {
        return read.error();
      }
      domains.push_back(*std::move(read));
    } else if (isHostFormat(file.format)) {
      ImportOptions alone = options;
      alone.box.count = 1;
      alone.box.scaleOut = hasNetwork || isJoined || !hasDomains ? ScaleOut::open : ScaleOut::none;
      auto inside = importFabric(file.text, file.format, file.name, alone);
      if (!inside) {
        return inside.error();
      }
      hosts.push_back(firstOfDomain({file.name, stemOf(file.name), *std::move(inside)}));
      giveOrigins(hosts.back().inside, file, options);
    } else {
      return Error{
          ErrorCode::badUsage,
          "a file of the format " + std::string(toString(file.format)) + " is a whole fabric and joins no other",
          "import it alone; networks (ibnetdiscover, slurm), hosts (nccl-xml, nvidia-smi, rocm-smi, hwloc) and NVLink "
          "domains go together",
          Place{file.name, 0, 0, {}}};
    }
  }
  if (hosts.empty() && networks.empty()) {
    return Error{ErrorCode::badUsage, "no file describes a host or a network",
                 "add nvidia-smi topo -m or the NCCL topology of a host", Place{files.front().name, 0, 0, {}}};
  }
  if (!hasNetwork && !isJoined && !hasDomains) {
    return Error{
        ErrorCode::badUsage,
        counted(static_cast<std::int64_t>(hosts.size()), "host") + " need a network that joins them",
        "add the output of ibnetdiscover or Slurm's topology.conf, or choose a scale-out: switch, rails or planes"};
  }
  std::map<std::string, int> names;
  for (HostModel& host : hosts) {
    const std::string plain = host.hostName;
    for (int copy = 2; names.contains(host.hostName); ++copy) {
      host.hostName = plain + "#" + std::to_string(copy);
    }
    ++names[host.hostName];
  }
  ClusterNetwork network;
  std::vector<std::string> known;
  if (hasNetwork) {
    network = merged(networks);
    for (const ClusterNetwork::Host& host : network.hosts) {
      known.push_back(host.name);
    }
  }
  for (const HostModel& host : hosts) {
    known.push_back(host.hostName);
  }
  std::vector<HostDomains> said;
  for (NvlinkDomains& read : domains) {
    for (HostDomains& host : read.hosts) {
      if (host.host.empty()) {
        host.host = hostOfFile(read.file, known);
      }
      said.push_back(std::move(host));
    }
  }
  if (!hasNetwork) {
    network = networkOf(hostsOf(hosts, said), isJoined ? options.box.scaleOut : ScaleOut::none);
    networkName = hosts.front().file;
  }
  network.nvlink = std::move(said);
  auto joined = joinHosts(network, hosts, options.network, networkName);
  if (joined) {
    joined->findings.insert(joined->findings.begin(), findings.begin(), findings.end());
    applySettings(*joined, options.numbers, networkName);
  }
  return joined;
}

}  // namespace coppice::io
