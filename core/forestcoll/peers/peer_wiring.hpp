// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "forestcoll/network.hpp"

/// Sparse wiring of GPUs through switches.
///
/// A switch lets every pair of its GPUs talk, and removing it (Algorithm 3) may use all of these pairs. Here the
/// capacity of a switch is handed out beforehand to few pairs: each GPU keeps the capacity of its port but spends it on
/// a limited number of peers, which relay for the others. Switches that are joined to each other count as one network.
///
/// Networks with few GPUs (the NVSwitch of a box) stay as they are while the limit allows. For the others, GPUs that
/// are joined already form clusters (boxes), and the wires run between clusters: GPU i of cluster c to GPU i of
/// clusters c + s and c - s, for steps s that reach all clusters in few hops and that differ from GPU to GPU. Every
/// cluster then has wires to many others, and every cut between clusters keeps at least the capacity of one cluster's
/// ports. Where clusters are not alike, ports lie one after the other on a circle and are wired to what lies a step
/// further on.
namespace coppice::forestcoll {

/// Capacity between two GPUs along one physical route, the same in both directions.
struct Wire {
  int a = 0;                ///< node; below b
  int b = 0;                ///< node
  std::int64_t trees = 0;   ///< capacity in each direction
  std::vector<int> relays;  ///< nodes between, from a to b
};

struct PeerWiring {
  std::vector<Wire> wires;
  std::vector<char> isReplaced;  ///< by node: a switch or nic that the wires run through and nothing else uses
  bool hasLeaves = false;        ///< some network has several switches with GPUs, so that WiringStyle::leaves differs
};

enum class WiringStyle {
  even,   ///< by steps alone
  leaves  ///< besides, every GPU is wired to others on its own leaf switch, for leaves with narrow uplinks
};

/// Wires for the networks of switches that would give some GPU more than `maxPeers` peers; nothing where there are
/// none. GPUs joined by links count as peers of each other.
/// @param capacities trees per arc, the same in both directions of every link
/// @pre maxPeers >= 1
/// Throws Failure (infeasible where no such wiring joins all GPUs), CancelledError, OverflowError.
[[nodiscard]] std::optional<PeerWiring> wirePeers(const Network& network, const std::vector<TreeArc>& capacities,
                                                  int maxPeers, WiringStyle style, const Progress& progress);

}  // namespace coppice::forestcoll
