// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/box_model.hpp"
#include "io/cluster_network.hpp"
#include "io/dot_process.hpp"
#include "io/ibnetdiscover.hpp"
#include "io/import_result.hpp"
#include "io/nvidia_smi.hpp"
#include "io/taccl_fabric.hpp"

/// One doorway to every file format of a fabric.
namespace coppice::io {

enum class FabricFormat {
  json,           ///< the project's own (fabric_json.hpp)
  dot,            ///< Graphviz, through the helper program (dot_process.hpp)
  adjacency,      ///< the official ForestColl form (adjacency.hpp)
  ncclXml,        ///< NCCL's topology file, import only (nccl_topo_xml.hpp)
  nvidiaSmi,      ///< nvidia-smi topo -m, import only (nvidia_smi.hpp)
  treeXml,        ///< ForestColl's trees, import only: the smallest fabric that carries them (tree_xml.hpp)
  taccl,          ///< a topology of TACCL, import only (taccl_fabric.hpp)
  rocmSmi,        ///< rocm-smi --showtopo, amd-smi topology, import only (rocm_smi.hpp)
  ibnetdiscover,  ///< ibnetdiscover, import only (ibnetdiscover.hpp)
  treeNetwork,    ///< Slurm's topology.conf and .yaml, Topograph, import only (tree_network.hpp)
  simai,          ///< SimAI's and ns-3's topology (simulator_network.hpp)
  astraSim,       ///< ASTRA-sim's analytical network (simulator_network.hpp)
  tacos,          ///< TACOS' topology, import only (simulator_network.hpp)
  hwloc,          ///< hwloc's XML (lstopo), import only (hwloc_xml.hpp)
  infraGraph,     ///< InfraGraph (infragraph.hpp)
  nvlinkDomains   ///< which GPUs share an NVLink domain: no fabric, but part of one (nvlink_domains.hpp)
};

/// "json", "dot", "adjacency", "nccl-xml", "nvidia-smi", "trees", "taccl", "rocm-smi", "ibnetdiscover", "slurm",
/// "simai", "astra-sim", "tacos", "hwloc", "infragraph", "nvlink-domains".
[[nodiscard]] std::string_view toString(FabricFormat format);
/// The names above, and "nccl", "smi", "gv", "fabric", "tree-xml", "amd-smi", "topograph", "ns3", "lstopo".
[[nodiscard]] std::optional<FabricFormat> parseFabricFormat(std::string_view text);
/// "json, dot, ... or tacos": the names that are printed, for messages.
[[nodiscard]] std::string formatNames();

/// "json, dot, ... or infragraph": those that are written.
[[nodiscard]] std::string writtenFormatNames();

/// What a file is. Content counts before the name's ending, except that .dot and .gv are always DOT. An empty text (a
/// file yet to be written) is judged by the ending alone: .dot, .gv; .csv, .adj and .adj.json adjacency; .json; .topo
/// SimAI. Errors: badInput where neither says, naming the format where it is a known one that is not read.
Result<FabricFormat> detectFormat(const std::filesystem::path& path, std::string_view text);

/// Choices that some formats need; the others ignore them.
struct ImportOptions {
  BoxOptions box = {};                ///< ncclXml, nvidiaSmi, rocmSmi, hwloc
  LinkRates rates = LinkRates::nccl;  ///< ncclXml
  NvidiaSmiOptions nvidiaSmi = {};    ///< nvidiaSmi, rocmSmi, hwloc, ncclXml (bandwidths); its own box is not used
  NetworkOptions network = {};        ///< ibnetdiscover, treeNetwork
  TacclFabricOptions taccl = {};      ///< taccl; its number of boxes is not used
  DotHelperOptions dotHelper = {};    ///< dot
  std::vector<NumberSetting> numbers = {};  ///< importCluster alone: numbers of its origins that a person sets
};

/// The format describes the network of a cluster (ibnetdiscover, Slurm), whose hosts other files may describe.
[[nodiscard]] bool isNetworkFormat(FabricFormat format);
/// @pre isNetworkFormat(format)
Result<ReadNetwork> readNetwork(std::string_view text, FabricFormat format, const std::string& fileName);

/// fileName is for messages only. Errors: those of the format.
Result<ImportResult> importFabric(std::string_view text, FabricFormat format, const std::string& fileName,
                                  const ImportOptions& options = {});

/// Errors: those of the format; badUsage for a format that can only be imported.
Result<std::string> exportFabric(const fabric::Description& description, FabricFormat format,
                                 const DotHelperOptions& dotHelper = {});

}  // namespace coppice::io
