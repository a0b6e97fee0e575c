// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

namespace coppice::io {

[[nodiscard]] bool looksLikeInfraGraph(std::string_view text);

/// Reads an InfraGraph (YAML or JSON): devices of components, their links and connections
/// ("xpu.0.pcie.nic.0", or edges with slices such as xpu[0:8]), instances of devices, and the connections between
/// these. xpu becomes a GPU, nic and port a NIC, all else a switch; each instance with GPUs is a box. Parts that a link
/// without bandwidth joins are one node; a GPU's link needs its bandwidth. GT/s count as a PCIe link of 16 lanes. Not
/// read: devices inside devices. Limits: 16 MiB, 200,000 nodes. Errors: badInput with line; limit.
Result<ImportResult> readInfraGraph(std::string_view text, const std::string& fileName);

/// As YAML: boxes, and nodes in none, become instances, those that look the same of one device, with the components
/// xpu, nic and switch. Names of nodes, latencies and what switches can do are not in the format; bandwidths have nine
/// places. Errors: badUsage (one-way links), invalidFabric, limit.
Result<std::string> writeInfraGraph(const fabric::Description& description);

}  // namespace coppice::io
