// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/fabric_formats.hpp"

namespace coppice::io {

/// One of several files that describe a cluster together.
struct ClusterFile {
  std::string text;
  std::string name;  ///< path; its stem is taken for the name of the host that a host's file was made on
  FabricFormat format = FabricFormat::json;
};

/// The file describes the inside of a host, whose NICs a network joins: an NCCL topology, nvidia-smi, rocm-smi, hwloc.
[[nodiscard]] bool isHostFormat(FabricFormat format);

/// The cluster that the files describe together: networks (ibnetdiscover, Slurm) and hosts. Several networks are planes
/// of one cluster, whose hosts have the same names. Each host of the network is a copy of the host's file that fits it
/// (joinHosts). Without a network, each file is one host, and options.box.scaleOut joins them. NVLink domains
/// (readNvlinkDomains) say which of them share an NVSwitch; those of named hosts without files are copies, too. One file
/// is read as importFabric does. Findings carry their file; origins tell of each number where it is from.
/// Errors: badUsage (files that do not go together); those of the formats and of joinHosts.
Result<ImportResult> importCluster(const std::vector<ClusterFile>& files, const ImportOptions& options = {});

}  // namespace coppice::io
