// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace coppice::io {

/// What `nvidia-smi nvlink` says of the links of each GPU, as a matrix of `nvidia-smi topo -m` says it.
struct NvlinkStatus {
  std::string matrix = {};              ///< of the GPUs in the status
  std::string rest = {};                ///< the text without the lines of the status: a matrix of topo -m, perhaps
  std::optional<Bandwidth> rate = {};   ///< of a link and direction; the least where they differ
  std::optional<bool> isSwitched = {};  ///< the links end at NVSwitches and not at GPUs; absent: the text does not say
  std::vector<Finding> findings = {};   ///< links that are down, rates that differ
};

[[nodiscard]] bool looksLikeNvlinkStatus(std::string_view text);

/// Reads the outputs of `nvidia-smi nvlink` with -s (rates), -R or -p (what a link ends at) and -c (which links there
/// are), one after the other in any order. Remote devices are the GPUs themselves, in the order of their bus ids, where
/// the numbers of links between every two agree; else they are NVSwitches. nullopt: no GPU with a link.
[[nodiscard]] std::optional<NvlinkStatus> readNvlinkStatus(std::string_view text);

}  // namespace coppice::io
