// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/description.hpp"

namespace coppice::io {

/// Where a number of an imported fabric is from.
enum class NumberSource {
  file,   ///< the file states it
  table,  ///< the file names the product or its generation, and a table gives the number
  guess,  ///< assumed
  stated  ///< an option or a person said so
};

/// "file", "table", "guess", "stated".
[[nodiscard]] std::string_view toString(NumberSource source);

/// What the file of one server leaves open, and what was taken for it.
struct ImportedServer {
  struct Nic {
    std::string id;            ///< in the fabric
    std::string device;        ///< the system's name for it ("mlx5_0"); may be empty
    Bandwidth bandwidth = {};  ///< GB/s per direction towards the network; 0 = unknown
  };
  std::vector<Nic> nics = {};  ///< all that the file lists, used or not
  /// nvidia-smi: NV# cells were read as links to an NVSwitch; absent where there are none, and for other formats.
  std::optional<bool> hasNvSwitch = {};
  /// nvidia-smi, rocm-smi: where the rate of NVLink or xGMI is from; absent for other formats.
  std::optional<NumberSource> linkSource = {};
  std::string linkDetail = {};  ///< the table's name, or why the rate was assumed
  // nvidia-smi: GB/s per direction that were taken; absent where none was needed, and for other formats.
  std::optional<Bandwidth> nvlinkBandwidth = {};
  std::optional<Bandwidth> nicBandwidth = {};
  std::optional<Bandwidth> pcieBandwidth = {};
  std::optional<Bandwidth> socketBandwidth = {};
};

/// The links of an imported fabric that have one number, and where that is from.
struct NumberOrigin {
  using Source = NumberSource;
  std::string what;  ///< "a cable between host and switch"
  Bandwidth bandwidth = {};
  std::size_t links = 0;  ///< how many links have it
  Source source = Source::file;
  std::string detail = {};  ///< the file, the table's name and row, or why it was assumed
  Bandwidth given = {};     ///< what it was before NumberSetting changed it; 0 = it was not changed
};

/// Another number for links of an imported fabric.
struct NumberSetting {
  std::string what;                     ///< NumberOrigin::what
  std::optional<Bandwidth> given = {};  ///< of those with this number; absent = of all of them
  Bandwidth value = {};
};

/// What a foreign file gave: the fabric, and everything that was guessed, left out or reduced on the way (notes and
/// warnings; an import that fails returns an Error instead).
struct ImportResult {
  fabric::Description description;
  std::vector<Finding> findings;
  std::optional<ImportedServer> server = {};  ///< files that describe one server: nccl-xml, nvidia-smi, rocm-smi, hwloc
  std::vector<NumberOrigin> origins = {};     ///< of the links, grouped; empty where the file states all of them
  std::vector<int> originOf = {};             ///< of each link of the description, its origin; empty as origins
};

}  // namespace coppice::io
