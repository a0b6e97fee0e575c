// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "io/box_model.hpp"
#include "io/import_result.hpp"

namespace coppice::io {

struct NcclTopoOptions {
  BoxOptions box = {};
  LinkRates rates = LinkRates::nccl;
  /// GB/s per direction of all NVLinks of a GPU together, to an NVSwitch; for GPUs without <gpu> only.
  std::optional<Bandwidth> nvlinkBandwidth = {};
  std::optional<Bandwidth> nicBandwidth = {};  ///< of network controllers without <nic>, which then are NICs
};

/// Reads the topology file that NCCL (version 1) or RCCL (version 2) writes with NCCL_TOPO_DUMP_FILE: one server's
/// CPUs, PCIe tree, GPUs, NVLinks (xGMI on AMD) and NICs. Several servers (host_hash differs) are one NVLink domain,
/// such as a rack of GB200. The network between servers is not in it: options.box replicates what the file has and
/// joins its NICs.
///
/// A file without <gpu> and <net> is a hint that NCCL completes on the machine (clouds set one in NCCL_TOPO_FILE): it
/// is read with a warning, and options say what is missing.
///
/// Read: system > cpu > pci (nested) > gpu > nvlink, xgmi, c2c; pci or cpu > nic > net; pci > pcilink. Other elements
/// are noted and ignored. Each GPU is one rank, ordered by `rank` where every GPU has its own, else by `dev`, else
/// as written. All links to NVSwitches end at one switch "nvswitch", as NCCL merges them. NVLink between GPUs is
/// duplex; where the two ends disagree the lesser count is taken, with a warning.
/// A real XML parser reads the text, so what NCCL's own reader refuses (a prolog, tabs) is accepted here.
///
/// Bandwidths, GB/s per direction (LinkRates::nccl, src/graph/topo.h of NCCL 2.30; nominal in brackets):
/// NVLink, each: sm60 18 [20], sm70 20 [25], sm80 20 [25], sm86 12 [14.0625], sm90 20.6 [25], sm100 and above 40.1
/// [50]; xGMI, each: gfx94x and gfx95x 48 [64], gfx90a 36 [50], others 24 [25]; PCIe: width x lane with lane 0.1875
/// [0.25] at 2.5 GT/s, doubling with each generation; between CPUs as NCCL's table has it; net: speed / 8000.
///
/// Limits: 16 MiB, elements nested 64 deep, 1,024 GPUs, 64 CPUs.
/// Errors: badInput with line and column; badUsage, infeasible and limit from assembleBoxes.
Result<ImportResult> readNcclTopology(std::string_view text, const std::string& fileName,
                                      const NcclTopoOptions& options = {});

}  // namespace coppice::io
