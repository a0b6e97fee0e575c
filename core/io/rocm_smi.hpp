// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "io/import_result.hpp"
#include "io/nvidia_smi.hpp"

namespace coppice::io {

/// The text is of rocm-smi --showtopo or amd-smi topology, as tables or JSON.
[[nodiscard]] bool looksLikeRocmSmi(std::string_view text);

/// Reads the tables of `rocm-smi --showtopo` or `amd-smi topology` (text or --json): weights, hops, link types, NUMA
/// nodes and, where amd-smi states them, bandwidths. XGMI of weight 15 is a direct link; a greater weight is a way
/// through other GPUs, whatever the hops say. PCIe joins GPUs of a NUMA node, and the sockets join these.
/// Speeds: those of amd-smi; else by the product where its name is in the text; else assumed and told. Of the options,
/// linkBandwidth is of an xGMI link between two GPUs, and there are no NICs.
/// Limits: 4 MiB, 1,024 GPUs. Errors: badInput with line; those of assembleBoxes.
Result<ImportResult> readRocmSmi(std::string_view text, const std::string& fileName,
                                 const NvidiaSmiOptions& options = {});

}  // namespace coppice::io
