// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/description.hpp"
#include "presets/arguments.hpp"

namespace coppice::presets {

/// One preset as its author writes it: texts, rules and the function that makes the fabric (which may throw Failure
/// and OverflowError).
struct Recipe {
  std::string name;
  std::string title;
  std::string description;
  std::string sources;
  std::vector<Rule> rules;
  fabric::Description (*generate)(const Arguments& arguments) = nullptr;
};

/// Single machines and clusters of them.
[[nodiscard]] std::vector<Recipe> machineRecipes();
/// Machines whose accelerators are joined as a torus: Trainium 2, TPUs.
[[nodiscard]] std::vector<Recipe> torusMachineRecipes();
/// Clusters of NVSwitch boxes with free numbers.
[[nodiscard]] std::vector<Recipe> clusterRecipes();
/// Switched networks with GPUs as hosts: fat trees, dragonfly.
[[nodiscard]] std::vector<Recipe> switchedRecipes();
/// GPUs joined directly: ring, torus, mesh, hypercube, complete, complete bipartite.
[[nodiscard]] std::vector<Recipe> directRecipes();

/// Topologies of core/topology: circulant, Cayley, Kautz, de Bruijn, Hamming, twisted, distance-regular.
[[nodiscard]] std::vector<Recipe> topologyRecipes();

}  // namespace coppice::presets
