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

/// What an NV# cell means: the matrix looks alike for a mesh of direct links and for a switch.
enum class NvlinkReading {
  guess,     ///< a switch if some GPU's NV# cells add up to more links than a GPU can have
  nvSwitch,  ///< NV# is each GPU's number of links to the switch
  mesh       ///< NV# is the number of links of this very pair
};

/// The matrix gives no speeds. Whatever is left open here is guessed from the number of NVLinks per GPU and stated as
/// a note: more than 12 links = H100 class, more than 6 = A100 class, fewer = V100 class.
struct NvidiaSmiOptions {
  BoxOptions box = {};
  std::optional<Bandwidth> linkBandwidth = {};    ///< per NVLink; guess: 25 GB/s (20 where GPUs have exactly 4 links)
  std::optional<Bandwidth> nicBandwidth = {};     ///< per NIC towards the network; guess: 50, 25 or 12.5 GB/s
  std::optional<Bandwidth> pcieBandwidth = {};    ///< per PCIe link; guess: 64, 32 or 16 GB/s (Gen5, Gen4, Gen3 x16)
  std::optional<Bandwidth> socketBandwidth = {};  ///< between CPU sockets (SYS cells); guess: 16 GB/s
  NvlinkReading reading = NvlinkReading::guess;
  int linksPerGpu = 0;  ///< most NVLinks a GPU has (4 P100, 6 V100, 12 A100, 18 H100 and B200); 0 = unknown, 18
};

/// The text has a row of `nvidia-smi topo -m` with a cell that is not of `topo -p2p`.
[[nodiscard]] bool looksLikeGpuMatrix(std::string_view text);

/// Reads the text of `nvidia-smi topo -m`: a line of column heads, then one row per device, cells X, NV#, PIX, PXB,
/// PHB, NODE, SYS (SOC in old drivers), affinity columns, and the legends. Tabs, spaces and terminal colour codes are
/// all tolerated; lines before the heads are ignored. A device that is not GPU<n> is a NIC.
/// NICs (and GPUs that no NVLink joins) are placed in a tree by nearness: PIX and PXB devices meet at a bridge, PHB at
/// a host bridge, NODE at a NUMA node, SYS between the sockets.
/// The output of `nvidia-smi nvlink -s`, with -R or beside the matrix, gives the rates and the links that are up; alone
/// it is read as a matrix without NICs (nvlink_status.hpp).
/// Limits: 4 MiB, 1,024 devices. Errors: badInput with line and column; those of assembleBoxes.
Result<ImportResult> readNvidiaSmi(std::string_view text, const std::string& fileName,
                                   const NvidiaSmiOptions& options = {});

}  // namespace coppice::io
