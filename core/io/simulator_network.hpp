// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

/// Networks of simulators and synthesizers: SimAI and ns-3, ASTRA-sim's analytical network, TACOS.
namespace coppice::io {

[[nodiscard]] bool looksLikeSimai(std::string_view text);
[[nodiscard]] bool looksLikeAstraSim(std::string_view text);
[[nodiscard]] bool looksLikeTacos(std::string_view text);

/// Reads SimAI's topology: "nodes GPUs-per-server NVSwitches switches links type", the numbers of the switches, then
/// links "from to 400Gbps 0.0005ms 0", duplex; or ns-3's of ASTRA-sim, whose first line is "nodes switches links".
/// Limits: 64 MiB, 200,000 nodes. Errors: badInput with line.
Result<ImportResult> readSimai(std::string_view text, const std::string& fileName);
/// GPUs get the first numbers; speeds have nine places. Errors: badUsage (one-way links), invalidFabric.
Result<std::string> writeSimai(const fabric::Description& description);

/// Reads the analytical network of ASTRA-sim (YAML): dimensions Ring, FullyConnected or Switch with npus_count,
/// bandwidth in GB/s of each link and direction, latency in ns. Rings are duplex, as the congestion-aware model has
/// them; a ring of two is one link. Errors: badInput with line; limit (65,536 NPUs).
Result<ImportResult> readAstraSim(std::string_view text, const std::string& fileName);

/// Where the fabric is a product of such dimensions, with GPUs counted fastest in the first; bandwidths with nine
/// places, one latency. Errors: badUsage (another fabric, with the format that takes it), limit, those of
/// Fabric::build.
Result<std::string> writeAstraSim(const fabric::Description& description);

/// Reads a topology of TACOS: the number of NPUs, then one-way links "from,to,latency in ns,GB/s".
/// Errors: badInput with line; limit (65,536 NPUs).
Result<ImportResult> readTacos(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
