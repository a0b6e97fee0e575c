// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "lowering/moves.hpp"

/// Internal to core/lowering: which network plane a route uses.
namespace coppice::lowering {

/// Parity of the network plane a route uses: of the first NIC's position among the NICs of its box; without NICs, of
/// the first relay's position among the relays that are in no box. A box with one NIC, or a single such relay, leaves
/// no choice, so there is no parity.
class Planes {
public:
  explicit Planes(const fabric::Fabric& fabric);
  [[nodiscard]] Parity of(std::span<const fabric::NodeIndex> route) const;

private:
  std::vector<int> m_ordinal;
  std::vector<bool> m_isNic;
};

}  // namespace coppice::lowering
