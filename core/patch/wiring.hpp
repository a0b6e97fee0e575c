// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rational.hpp"
#include "patch/links.hpp"

namespace coppice::patch {

/// One end of a cable. Simplex: the transmitter of the port at the sending end, its receiver at the other.
struct Plug {
  int node = 0;
  int port = 0;
  friend auto operator<=>(const Plug&, const Plug&) = default;
};

struct Cable {
  Plug from;
  Plug to;
  friend auto operator<=>(const Cable&, const Cable&) = default;
};

/// Which port of which node is joined to which.
struct Wiring {
  CableKind kind = CableKind::simplex;
  std::vector<std::string> ids;
  int ports = 0;  ///< per node
  /// Panels that the ports can be divided over so that every cable stays on one: simplex: port j on panel j; duplex
  /// with even `ports`: ports 2j and 2j+1 on panel j; else 1.
  int panels = 1;
  std::vector<Cable> cables;

  [[nodiscard]] int nodeCount() const { return static_cast<int>(ids.size()); }
  [[nodiscard]] int panelOf(const Cable& cable) const;
  /// Position of a node's port on its panel.
  [[nodiscard]] int panelPort(const Plug& plug) const;
  /// Panel ports in all.
  [[nodiscard]] std::int64_t panelPorts() const { return std::int64_t{nodeCount()} * ports; }
};

/// Simplex: d permutations, so that port j of every node sends to port j of another and d panels of N ports suffice.
/// Duplex with an even number of ports: d/2 unions of rings with two ports of each node; odd: ports in order, one
/// panel.
[[nodiscard]] Wiring assignPorts(const Links& links);

/// The links that a wiring makes, sorted; for duplex the smaller number first.
[[nodiscard]] std::vector<std::pair<int, int>> linksOf(const Wiring& wiring);

/// A fault in words ("port 3 of g7 takes two cables"), or empty: every port takes one cable and the links are `wanted`.
[[nodiscard]] std::string faultOf(const Wiring& wiring, const Links& wanted);

/// "cable,from,from_port,to,to_port,panel,panel_from,panel_to" and a row per cable; ports and cables count from 1.
[[nodiscard]] std::string toCsv(const Wiring& wiring);
/// The same as a table for paper: panel by panel, with a box to tick.
[[nodiscard]] std::string toPrintable(const Wiring& wiring);
/// Reads toCsv's table. `order` gives the numbers of ids that are known. Errors: badInput naming the line.
[[nodiscard]] Result<Wiring> readCsv(std::string_view text, CableKind kind, const std::vector<std::string>& order);

/// What the user pays, in any currency.
struct Prices {
  Rational cable;
  Rational port;  ///< transceiver
  Rational panelPort;
};
/// Throws OverflowError.
[[nodiscard]] Rational costOf(const Wiring& wiring, const Prices& prices);

}  // namespace coppice::patch
