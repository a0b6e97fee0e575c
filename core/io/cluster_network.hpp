// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"
#include "io/nvlink_domains.hpp"

/// The network of a cluster without the inside of its hosts, as the tools of networks and schedulers tell it
/// (ibnetdiscover, Slurm, Topograph), and how it becomes a fabric together with models of the hosts.
namespace coppice::io {

struct ClusterNetwork {
  struct Switch {
    std::string name;  ///< unique; becomes the node's id
    bool aggregates = false;
  };
  struct Host {
    std::string name;  ///< unique; becomes the name of the box
  };
  /// A cable between a host and a switch.
  struct Port {
    int host = 0;
    std::string adapter;  ///< "mlx5_0", "HCA-1"; empty = all NICs of the host, in a file that does not tell them apart
    int port = 1;
    int switchIndex = 0;
    Bandwidth bandwidth = {};  ///< GB/s per direction; 0 = the file does not say
  };
  /// Cables between two switches, duplex.
  struct Trunk {
    int a = 0;
    int b = 0;
    Bandwidth bandwidth = {};  ///< GB/s per direction and cable; 0 = the file does not say. Then b is above a.
    int count = 1;
  };

  std::string name;
  std::string source;  ///< how numbers of the file are called: "ibnetdiscover", "Slurm"
  std::vector<Switch> switches;
  std::vector<Host> hosts;
  std::vector<Port> ports;
  std::vector<Trunk> trunks;
  std::vector<HostDomains> nvlink = {};  ///< what hosts say of their NVLink domains; those without say nothing
};

/// The inside of a host: a fabric of one box whose NICs end nowhere (ScaleOut::open).
struct HostModel {
  std::string file;      ///< where it is from
  std::string hostName;  ///< the host that it was taken on, where that is known; it then stands for this host first
  ImportResult inside;
  int domainHosts = 1;  ///< hosts of the NVLink domain that its file describes, all like this one
};

/// How a network becomes a fabric.
struct NetworkOptions {
  std::vector<std::string> hosts = {};            ///< patterns with * and ? of the hosts to use; empty = all
  std::vector<std::string> adapters = {};         ///< the same of adapters ("mlx5_0"); empty = all
  std::optional<Bandwidth> nicBandwidth = {};     ///< where the file says none; guess: 50 GB/s
  std::optional<Bandwidth> uplinkBandwidth = {};  ///< of a trunk where the file says none; guess: all that is below
};

/// Joins hosts and network. A host becomes a copy of the model that its adapters fit best: by the name of the host,
/// then by the names of the adapters ("mlx5_5" and "HCA-6" are one), then by their number. Without a model each cable
/// of a host is a NIC with a GPU of its own, so that the network alone limits, with a warning. Hosts with at most half of
/// the cables of the others and a name of another kind (storage, logins) are left out unless options.hosts names them.
/// Hosts come in natural order of their names, and so do the ranks. GPUs of several hosts that say they are in one
/// NVLink domain meet at one NVSwitch; those that say they have not joined it have no NVLink. Findings say what was
/// guessed or left out; origins where each number is from. Errors: infeasible (no host, or none that a model fits),
/// badUsage, limit.
Result<ImportResult> joinHosts(const ClusterNetwork& network, const std::vector<HostModel>& models,
                               const NetworkOptions& options, const std::string& fileName);

/// `text` matches a pattern in which * stands for any text and ? for any character; letters count without case.
[[nodiscard]] bool matchesPattern(std::string_view text, std::string_view pattern);

}  // namespace coppice::io
