// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "io/fabric_formats.hpp"

/// What a file of another program leaves open, as a person answers it: in options of the command line or in the fields
/// of a dialog.
namespace coppice::io {

enum class ImportChoice {
  boxes,            ///< copies of the one server in the file
  scaleOut,         ///< the network between the copies
  nics,             ///< which NICs to use
  keepPcie,         ///< every PCIe bridge and CPU stays
  nominalRates,     ///< the maker's link rates instead of NCCL's
  nvlink,           ///< what an NV# cell means: a switch or a mesh
  nvlinkBandwidth,  ///< GB/s per NVLink and direction
  nicBandwidth,     ///< GB/s per NIC and direction
  pcieBandwidth,    ///< GB/s per PCIe link and direction
  socketBandwidth,  ///< GB/s between CPU sockets, per direction
  uplinkBandwidth,  ///< GB/s per link between switches and direction
  hosts,            ///< which hosts of a network to use
  adapters,         ///< which adapters of the hosts
  machine,          ///< which links a box of TACCL has
  timeUnit          ///< microseconds of a unit of its times
};

/// "boxes", "scale-out", "nics", "keep-pcie", "nominal-rates", "nvlink", "nvlink-bandwidth", "nic-bandwidth",
/// "pcie-bandwidth", "socket-bandwidth", "uplink-bandwidth", "hosts", "adapters", "type", "time-unit".
[[nodiscard]] std::string_view toString(ImportChoice choice);

/// What files of the format leave open; empty: nothing.
[[nodiscard]] std::vector<ImportChoice> choicesOf(FabricFormat format);

/// The answers, as typed; empty texts leave the choice to the reader of the format.
struct ImportAnswers {
  int boxes = 1;
  std::string scaleOut = {};  ///< "none", "switch", "rails", "planes"
  std::string nics = {};      ///< names, separated by commas; empty = all
  bool keepPcie = false;
  bool nominalRates = false;
  std::string nvlink = {};  ///< "switch", "mesh"
  std::string nvlinkBandwidth = {};
  std::string nicBandwidth = {};
  std::string pcieBandwidth = {};
  std::string socketBandwidth = {};
  std::string uplinkBandwidth = {};
  std::string hosts = {};     ///< patterns with * and ?, separated by commas; empty = all
  std::string adapters = {};  ///< the same of adapters
  std::string machine = {};   ///< "ndv2", "dgx2", "hub", "custom"
  std::string timeUnit = {};  ///< microseconds, as in 0.01 or 1/100
  /// Numbers of origins to set: "a cable between switches=100", or those of 50 alone: "a cable between switches@50=100".
  std::vector<std::string> numbers = {};
  /// Of a hint file: the preset whose NVLinks and NICs its GPUs have; read above this library, which knows no presets.
  std::string completeFrom = {};

  friend bool operator==(const ImportAnswers&, const ImportAnswers&) = default;
};

/// Errors: badUsage for a text that says nothing; where.element is the command line's option.
[[nodiscard]] Result<ImportOptions> importOptions(const ImportAnswers& answers);

}  // namespace coppice::io
