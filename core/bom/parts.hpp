// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

/// Bill of materials: what the network between boxes is bought of, how long its cables are, and what it costs.
namespace coppice::bom {

enum class PartKind {
  networkSwitch,
  nic,
  copper,      ///< a whole cable with both ends: DAC, ACC, AEC
  aoc,         ///< a whole active optical cable
  transceiver  ///< one end of an optical link; a cable needs two, and fibre between them
};

/// "switch", "nic", "copper", "aoc", "transceiver".
[[nodiscard]] std::string_view toString(PartKind kind);

/// Ports of a switch that are alike.
struct PortGroup {
  int count = 0;
  Bandwidth rate;
  std::vector<int> splits = {};  ///< numbers of ports that one can be split into, each with an equal part of the rate
};

/// One row of the table. Price and watts are those of one piece.
struct Part {
  PartKind kind = PartKind::networkSwitch;
  std::string name = {};
  int ports = 0;                       ///< switches and NICs
  Bandwidth rate;                      ///< of a port or cable, per direction
  Rational reach = {};                 ///< metres; cables and transceivers
  Rational watts = {};                 ///< of a whole cable: both ends
  Rational price = {};                 ///< in any currency
  Rational pricePerMetre = {};         ///< added to a cable; of transceivers: of the fibre
  int line = 0;                        ///< in the table
  std::vector<int> splits = {};        ///< of the ports, see PortGroup
  std::vector<PortGroup> others = {};  ///< further ports of a switch

  [[nodiscard]] bool isCable() const { return kind != PartKind::networkSwitch && kind != PartKind::nic; }
  [[nodiscard]] std::vector<PortGroup> portGroups() const;
  [[nodiscard]] int piecesPerCable() const { return kind == PartKind::transceiver ? 2 : 1; }
};

struct Parts {
  std::vector<Part> rows;
  std::string fileName;  ///< for messages

  [[nodiscard]] bool has(PartKind kind) const;
};

/// A table with the columns kind, name, ports, rate, reach, watts, price, price_per_metre and split in any order;
/// `note` is ignored. Rates are bandwidths as in fabrics ("50", "400Gb/s"), reach is in metres. A switch with several
/// kinds of ports has "48+8" ports of the rates "25+50"; split is what each can be split into: "2/4", or "2/4+2".
/// Errors: badInput naming the line and the column; overflow.
[[nodiscard]] Result<Parts> readParts(std::string_view text, const std::string& fileName = {});

/// The same of rows from elsewhere, the row of columns first.
[[nodiscard]] Result<Parts> readPartRows(const std::vector<CsvRow>& rows, const std::string& fileName);

/// examples/parts.csv: a table with round numbers, to start from.
extern const std::string_view kSampleParts;

}  // namespace coppice::bom
