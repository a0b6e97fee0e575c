// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"

/// Known machines and parameterised families of fabrics. Every bandwidth is per direction in GB/s and every number of a
/// machine has its source in Preset::sources.
namespace coppice::presets {

/// No preset makes more than this, whatever its parameters.
inline constexpr int kMaxNodes = 200'000;
inline constexpr int kMaxLinks = 1'000'000;

struct Parameter {
  std::string name;         ///< as on the command line: "boxes"
  std::string description;  ///< one sentence
  std::string defaultText;  ///< what make() takes where the argument is absent
  std::string allowed;      ///< range or list of values, for a person
};

struct Preset {
  std::string name;         ///< "dgx-a100"
  std::string title;        ///< "NVIDIA DGX A100"
  std::string description;  ///< what is modelled and what is left out
  std::string sources;      ///< where each number comes from (data sheet, paper section); no addresses
  std::vector<Parameter> parameters;
};

/// All presets in a fixed order: machines first, then clusters, then families of graphs.
[[nodiscard]] std::span<const Preset> catalogue();

/// The preset of that name, or nullptr.
[[nodiscard]] const Preset* find(std::string_view name);

/// What a preset says of one server whose GPUs hang on a switch.
struct ServerFigures {
  int gpus = 0;
  std::string nvlink;  ///< GB/s per direction of a GPU to the switch, as a text: "450"
  std::string nic;     ///< GB/s per direction of a GPU's NIC
};

/// nullopt: no preset of that name, or no such server (GPUs joined directly, NICs shared by pairs, free numbers).
[[nodiscard]] std::optional<ServerFigures> serverFigures(std::string_view name);

/// The fabric of one preset. Absent arguments take their defaults; the same arguments always give the same description.
///
/// Nodes have readable ids ("b0g3", "b0nvs", "b0nic2", "ib0", "leaf1", "spine0"), GPUs have ranks in the order of their
/// boxes; no node has a position, as where they stand is for those who draw them. A machine of one box has no scale-out
/// network; its NICs are left out. The result always passes fabric::validate without errors.
///
/// Errors: badUsage for an unknown preset or parameter (naming the nearest one and listing all), for a value out of
/// range, for a parameter that has no effect with the others given, for more than kMaxNodes or kMaxLinks, and for
/// choices that leave GPUs apart or fewer than two GPUs; overflow for bandwidths beyond the exact range.
[[nodiscard]] Result<fabric::Description> make(std::string_view name,
                                               const std::map<std::string, std::string>& arguments);

}  // namespace coppice::presets
