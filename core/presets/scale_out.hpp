// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "presets/arguments.hpp"
#include "presets/builder.hpp"

/// The networks that join boxes, the same for every machine whose GPUs have a NIC each.
namespace coppice::presets {

/// The rule network and those of each: planes, boxes_per_leaf, boxes_per_unit, spines, cores, oversubscription and
/// core_oversubscription.
[[nodiscard]] std::vector<Rule> scaleOutRules(const std::string& defaultNetwork);
/// The same without the rule network, for a fixed one.
[[nodiscard]] std::vector<Rule> scaleOutRulesOf(const std::string& network);

/// The rule sharp: whether the scale-out switches multicast and aggregate.
[[nodiscard]] Rule sharpRule();

/// Whether a network draws a NIC node for every GPU (the others join the GPU to the switch at the NIC's bandwidth).
[[nodiscard]] bool hasNicNodes(const std::string& network);

/// Where one box reaches the scale-out network.
struct Port {
  std::string node;  ///< GPU that owns the NIC
  std::string boxName;
  int box = 0;
  int number = 0;  ///< of the GPU within its box: decides its rail and its plane
  Bandwidth bandwidth;
};

/// Adds NIC nodes (where the network has them), switches and links.
/// network: simple (one switch "ib"), planes (NIC i on switch i mod planes), rails (GPU i on "rail<i>", all rails on
/// one spine), rail-only (no spine), leaf-spine (a single leaf needs no spines), two-plane (each NIC with half of its
/// bandwidth on each of two leaf-spine networks), three-tier (leaf "u<unit>rail<i>", spines of the unit, cores).
/// Uplinks carry the downlinks' sum divided by `oversubscription`, those to cores by `core_oversubscription`.
void addScaleOut(Builder& builder, const Arguments& arguments, const std::string& network, int boxes,
                 const std::vector<Port>& ports);

/// Upper bound on nodes and links that addScaleOut adds for this many ports.
[[nodiscard]] std::int64_t scaleOutNodes(std::int64_t ports, const std::string& network);
[[nodiscard]] std::int64_t scaleOutLinks(std::int64_t ports, const std::string& network);

}  // namespace coppice::presets
