// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// Cabling of direct-connect fabrics through patch panels: ports, tables, and plans to change from one to another.
namespace coppice::patch {

/// No wiring has more cables.
inline constexpr std::int64_t kMaxCables = 8'388'608;

enum class CableKind {
  simplex,  ///< one fibre from a transmitter to a receiver
  duplex    ///< one cable for both directions
};

/// What is to be cabled: one pair of nodes for every cable, parallel ones repeated.
struct Links {
  CableKind kind = CableKind::simplex;
  std::vector<std::string> ids;           ///< by rank
  std::vector<std::pair<int, int>> ends;  ///< from, to; for duplex the smaller number first
  Bandwidth perCable;                     ///< in each direction

  [[nodiscard]] int nodeCount() const { return static_cast<int>(ids.size()); }
};

/// The largest bandwidth of which all links are whole multiples is one cable. Errors: badUsage for switches and NICs
/// (naming one) and, with duplex, for links without one back (naming one); limit beyond kMaxCables.
[[nodiscard]] Result<Links> readLinks(const fabric::Fabric& fabric, CableKind kind);

/// Every link has one of equal bandwidth back.
[[nodiscard]] bool isDuplex(const fabric::Fabric& fabric);

}  // namespace coppice::patch
