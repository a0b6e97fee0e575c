// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bom/bill.hpp"
#include "command.hpp"

namespace coppice::cli {

/// The table of parts and the floor, as options of the subcommands that price a network.
struct PartsOptions {
  std::string file;
  int boxesPerRack = bom::Floor{}.boxesPerRack;
  int switchesPerRack = bom::Floor{}.switchesPerRack;
  std::string rackPitch = "0.6";
  std::string rackHeight = "2";
  std::string boxHeight = "0.4";
  std::string switchHeight = "0.1";
  std::string trayHeight = "0.2";
  std::string slack = "0.5";
  bool isTopOfRack = false;
};

void addPartsOptions(CLI::App& sub, PartsOptions& options);
/// Errors: badUsage naming the option; those of reading the file and of bom::readParts.
[[nodiscard]] Result<bom::Parts> readParts(const PartsOptions& options);
/// Errors: badUsage naming the option.
[[nodiscard]] Result<bom::Floor> readFloor(const PartsOptions& options);

/// "switch   4  Switch 64 x 400G   100000   8000 W": a line per part and the total.
[[nodiscard]] std::string billText(const bom::Bill& bill, const bom::Parts& parts);
[[nodiscard]] Json billJson(const bom::Bill& bill, const bom::Parts& parts);

}  // namespace coppice::cli
