// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// What is wired against what was planned or bought: two fabrics whose nodes are matched, and what the first lacks.
namespace coppice::fabric {

enum class DifferenceKind {
  missingHost,    ///< a box of the plan that is not wired
  missingNode,    ///< a GPU, NIC or switch of the plan
  missingCable,   ///< no link where the plan has one: a port that is down, or no cable
  otherSwitch,    ///< the link ends at another switch than planned: wrong rail or leaf
  lessBandwidth,  ///< less than planned: half width, half speed, fewer parallel links
  moreBandwidth,  ///< more than planned
  extraHost,      ///< a box that the plan does not have
  extraCable      ///< a link that the plan does not have
};

/// "missing_host", "missing_node", "missing_cable", "other_switch", "less_bandwidth", "more_bandwidth", "extra_host",
/// "extra_cable".
[[nodiscard]] std::string_view toString(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::missingCable;
  std::string text;                       ///< one sentence, with the wired names where there are any
  std::vector<std::string> planned = {};  ///< ids in the plan: a node, or the two ends of each link; a box its name
  std::vector<std::string> wired = {};    ///< the same in what is wired; empty where it is missing
  Bandwidth plannedBandwidth = {};        ///< GB/s per direction of all parallel links; 0 = none
  Bandwidth wiredBandwidth = {};
  std::string movedTo = {};  ///< otherSwitch: id in the plan of the switch that the link ends at; empty = not planned
};

struct FabricComparison {
  bool isById = false;                  ///< nodes are matched by their ids; else by hosts, numbers and links
  std::vector<int> wiredOf;             ///< by node of the plan: node of what is wired, -1 = missing
  std::vector<Difference> differences;  ///< in the order of the plan's nodes and links, hosts first
};

/// Matches the nodes of both fabrics and lists the differences. Nodes with the same ids are the same where half of the
/// GPUs have such; else hosts are matched by their names, then in natural order, what is in them by kind and number,
/// and the switches of the network by what they join. Where three quarters of the links of a kind have one other rate,
/// that is one difference.
[[nodiscard]] FabricComparison compareWired(const Fabric& plan, const Fabric& wired);

/// The fabric with each NIC between two nodes as one link between these, as wide as the narrower of its two, so that it
/// compares with a plan that joins GPUs to switches. nullopt where it has no such NIC.
[[nodiscard]] std::optional<Fabric> withoutNics(const Fabric& fabric);

/// The plan with one difference alone, as a description, for what it costs: with the link as it is wired, or without
/// the node or the host (the ranks of the others close up). nullopt for what the plan does not have.
[[nodiscard]] std::optional<Description> withDifference(const Fabric& plan, const Difference& difference);

}  // namespace coppice::fabric
