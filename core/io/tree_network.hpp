// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "io/ibnetdiscover.hpp"

/// Trees of switches as schedulers have them: names without speeds.
namespace coppice::io {

/// The text is a topology.conf (SwitchName=, BlockName=), a topology.yaml of Slurm, or a tree of Topograph.
[[nodiscard]] bool looksLikeTopologyConf(std::string_view text);
[[nodiscard]] bool looksLikeTopologyYaml(std::string_view text);
[[nodiscard]] bool looksLikeTopograph(std::string_view text);

/// Reads Slurm's topology.conf (tree and block) or topology.yaml (the default topology of several), or Topograph's
/// instances (JSON) or model (YAML), by content. Names may be host lists ("tux[0-3,7],login1"). A node of the tree is a
/// host, and all its NICs are on its switch. A block is a switch of its own nodes, and one switch joins the blocks.
/// Speeds are not in these files: joinHosts assumes them.
/// Limits: 64 MiB, 100,000 names. Errors: badInput with line.
Result<ReadNetwork> readTreeNetwork(std::string_view text, const std::string& fileName);

/// The names of a host list of Slurm: "n[01-03],m[1-2]x[0-1]". Errors: badInput, limit (100,000 names).
Result<std::vector<std::string>> hostNames(std::string_view text);

}  // namespace coppice::io
