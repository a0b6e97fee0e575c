// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "io/import_result.hpp"

/// The inside of one server, as NCCL's topology file or nvidia-smi describe it, and how it becomes a fabric: the paths
/// that matter are kept, the box is replicated, and the NICs of the copies are joined by a scale-out network.
/// Every link is duplex, so the fabric is balanced by construction.
namespace coppice::io {

/// The network between the NICs of the boxes.
enum class ScaleOut {
  none,          ///< NICs end nowhere (one box only)
  open,          ///< NICs stay with their paths, for a network that comes from elsewhere (one box only)
  oneSwitch,     ///< every NIC on one switch
  rails,         ///< NIC i of every server on switch i
  oddEvenPlanes  ///< NICs with an even index on one switch, with an odd index on another
};

/// "none", "switch", "rails", "planes".
[[nodiscard]] std::string_view toString(ScaleOut scaleOut);
[[nodiscard]] std::optional<ScaleOut> parseScaleOut(std::string_view text);

/// Whose numbers stand for a link of a known kind, GB/s per direction.
enum class LinkRates {
  nccl,    ///< what NCCL reckons with (achievable): A100 20, H100 20.6, B200 40.1 per NVLink; PCIe Gen4 x16 24
  nominal  ///< what the maker states: A100 25, H100 25, B200 50 per NVLink; PCIe Gen4 x16 32
};

struct BoxOptions {
  int count = 1;  ///< boxes, 1 to 1024; more than one needs a scale-out network
  ScaleOut scaleOut = ScaleOut::none;
  /// false: PCIe and CPU paths stay only where they are needed, that is from each NIC to its nearest GPUs, or between
  /// all GPUs where NVLink does not join them. true: every bridge and CPU stays as it is.
  bool keepPcie = false;
  std::vector<std::string> nics = {};  ///< names of the NICs to use ("mlx5_0", "nic3"); empty = all
};

enum class BoxRole { gpu, nvSwitch, bridge, cpu, nic };

struct BoxNode {
  BoxRole role = BoxRole::bridge;
  std::string id;               ///< unique inside the box
  std::string device = {};      ///< nic: the system's name for it ("mlx5_0")
  int parent = -1;              ///< index of the next node towards the CPU; -1 = none
  Bandwidth uplink = {};        ///< per direction to the parent
  Bandwidth netBandwidth = {};  ///< nic: GB/s per direction towards the network
  int host = -1;  ///< which of several servers that NVLink joins; -1 = there is one, or none in particular
};

/// Duplex. `count` parallel links of `bandwidth` GB/s per direction each.
struct BoxLink {
  int a = 0;
  int b = 0;
  Bandwidth bandwidth = {};
  int count = 1;
};

struct Box {
  std::string name;
  std::vector<BoxNode> nodes;      ///< GPUs in rank order
  std::vector<BoxLink> gpuLinks;   ///< NVLink or xGMI, between GPUs or to an NVSwitch
  std::vector<BoxLink> hostLinks;  ///< outside the PCIe tree: CPU to CPU, GPU to CPU, bridge to bridge
  std::string nicFix = {};         ///< what to do where NICs are asked for and the box has none; empty = the usual
};

/// Reduces the box as BoxOptions says, replicates it and joins the copies. Box k's nodes are called "box<k>.<id>"
/// where there is more than one box; where NVLink joins several servers, they are boxes "host<h>" inside it. In the
/// reduced form a bridge or CPU with two links becomes one link of the lesser bandwidth; a bridge with as many GPUs as
/// NICs and nothing else becomes that many direct GPU-NIC links (so that it offers no path around NVLink between GPUs),
/// all noted in the findings; and a NIC's only link inside the box is not wider than its link to the network. Errors:
/// badUsage (count, scale-out or NIC names that do not fit), infeasible (GPUs that nothing joins), limit.
Result<ImportResult> assembleBoxes(const Box& box, const BoxOptions& options);

/// assembleBoxes() as the end of an importer: its findings come first, all of them and an error are of the file, and
/// `taken` is what it read of the server, to which the NICs are added.
Result<ImportResult> assembleServer(const Box& box, const BoxOptions& options, std::vector<Finding> findings,
                                    ImportedServer taken, const std::string& fileName);

}  // namespace coppice::io
