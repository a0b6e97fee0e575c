// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

/// The networks that can join boxes of one kind: what is enumerated before anything is priced.
namespace coppice::workflow {

/// The presets of boxes that a network joins.
[[nodiscard]] std::vector<std::string> presetsWithNetwork();

struct VariantRequest {
  std::string box = "dgx-h100";  ///< a preset with a parameter "network"
  int gpus = 64;
  std::map<std::string, std::string> arguments = {};  ///< more parameters of the preset
  std::vector<std::string> networks = {};             ///< words of its parameter "network"; empty = all
  std::vector<Rational> oversubscriptions = {1, 2, 4};
  std::vector<Rational> tapers = {1};  ///< of spines to cores: "core_oversubscription"
  std::vector<int> planes = {2};       ///< of the network "planes"
  std::vector<Bandwidth> nics = {};    ///< of a GPU; empty = as the preset has it
};

struct Variant {
  std::string name;  ///< "leaf-spine 2:1, 4 boxes per leaf, 2 spines, NICs of 50 GB/s"
  /// Those of one group have the same bounds: they differ in how many equal spines and cores share what the switches
  /// below send up, and such switches can be taken as one.
  std::string group;
  std::map<std::string, std::string> arguments;  ///< of presets::make
};

/// All numbers of boxes per leaf and of boxes per unit that divide the boxes, and of spines and cores that divide what
/// they share, in the order of the words of "network". Errors: badUsage as optionError() (box, gpus, network).
[[nodiscard]] Result<std::vector<Variant>> networkVariants(const VariantRequest& request);

}  // namespace coppice::workflow
