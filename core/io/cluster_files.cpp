// SPDX-License-Identifier: Apache-2.0
#include "io/cluster_files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/counted.hpp"
#include "base/text.hpp"

namespace coppice::io {
namespace {

std::string stemOf(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.'));
}

/// Where the numbers inside a host are from, by what joins what.
std::vector<NumberOrigin> hostOrigins(const ImportResult& host, const ClusterFile& file, const ImportOptions& options) {
  using Source = NumberOrigin::Source;
  const bool isNccl = file.format == FabricFormat::ncclXml;
  std::map<std::string, std::string> kinds;
  for (const fabric::NodeDescription& node : host.description.nodes) {
    kinds[node.id] = node.kind;
  }
  std::map<std::pair<std::string, std::string>, NumberOrigin> grouped;
  for (const fabric::LinkDescription& link : host.description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (!bandwidth) {
      continue;
    }
    const auto isGpu = [&](const std::string& id) { return kinds[id] == "gpu"; };
    const auto isNvSwitch = [](const std::string& id) { return id.ends_with("nvswitch"); };
    const bool isFast = (isGpu(link.src) && isGpu(link.dst)) || isNvSwitch(link.src) || isNvSwitch(link.dst);
    NumberOrigin origin{isFast ? "a link between GPUs, or to their switch" : "a PCIe or CPU link of a host",
                        *bandwidth};
    const auto& stated = isFast ? options.nvidiaSmi.linkBandwidth : options.nvidiaSmi.pcieBandwidth;
    const std::string name = std::filesystem::path(file.name).filename().string();
    if (isNccl && isFast) {
      origin.source = Source::table;
      origin.detail = std::string(options.rates == LinkRates::nccl ? "NCCL's" : "the maker's") +
                      " rate of the generation in " + name;
    } else if (isNccl) {
      origin.detail = "speed and width in " + name;
    } else if (file.format == FabricFormat::hwloc) {
      origin.detail = "hwloc's numbers in " + name;
    } else if (stated) {
      origin.source = Source::stated;
      origin.detail = "option";
    } else {
      origin.source = Source::guess;
      origin.detail = "by the numbers of links in " + name;
    }
    NumberOrigin& entry = grouped.try_emplace({origin.what, toFraction(*bandwidth)}, std::move(origin)).first->second;
    entry.links += static_cast<std::size_t>(std::max(link.count, 0));
  }
  std::vector<NumberOrigin> origins;
  for (auto& [key, origin] : grouped) {
    origins.push_back(std::move(origin));
  }
  return origins;
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

/// Hosts without a network's file, joined as the options say.
ClusterNetwork networkOf(const std::vector<HostModel>& hosts, ScaleOut scaleOut) {
  ClusterNetwork network;
  network.name = counted(static_cast<std::int64_t>(hosts.size()), "host");
  network.source = "the NIC of the host's file";
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    network.hosts.push_back({hosts[i].hostName});
    const auto& nics = hosts[i].inside.server->nics;
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
      imported->origins = hostOrigins(*imported, files[0], options);
    }
    return imported;
  }
  std::vector<ReadNetwork> networks;
  std::vector<HostModel> hosts;
  std::vector<Finding> findings;
  std::string networkName;
  for (const ClusterFile& file : files) {
    if (isNetworkFormat(file.format)) {
      auto network = readNetwork(file.text, file.format, file.name);
      if (!network) {
        return network.error();
      }
      findings.insert(findings.end(), network->findings.begin(), network->findings.end());
      networks.push_back(*std::move(network));
      networkName = networkName.empty() ? file.name : networkName;
    } else if (isHostFormat(file.format)) {
      ImportOptions alone = options;
      alone.box.count = 1;
      alone.box.scaleOut = ScaleOut::open;
      auto inside = importFabric(file.text, file.format, file.name, alone);
      if (!inside) {
        return inside.error();
      }
      inside->origins = hostOrigins(*inside, file, options);
      hosts.push_back({file.name, stemOf(file.name), *std::move(inside)});
    } else {
      return Error{
          ErrorCode::badUsage,
          "a file of the format " + std::string(toString(file.format)) + " is a whole fabric and joins no other",
          "import it alone; networks (ibnetdiscover, slurm) and hosts (nccl-xml, nvidia-smi, rocm-smi, hwloc) go "
          "together",
          Place{file.name, 0, 0, {}}};
    }
  }
  if (networks.empty() && (options.box.scaleOut == ScaleOut::none || options.box.scaleOut == ScaleOut::open)) {
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
  const ClusterNetwork network = networks.empty() ? networkOf(hosts, options.box.scaleOut) : merged(networks);
  auto joined = joinHosts(network, hosts, options.network, networkName);
  if (joined) {
    joined->findings.insert(joined->findings.begin(), findings.begin(), findings.end());
  }
  return joined;
}

}  // namespace coppice::io
