// SPDX-License-Identifier: Apache-2.0
#include "floor_options.hpp"

#include <algorithm>
#include <array>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "input.hpp"
#include "workflow/options.hpp"

namespace coppice::cli {

void addPartsOptions(CLI::App& sub, PartsOptions& options) {
  const std::string group = "Floor plan, lengths in metres";
  sub.add_option("--parts", options.file,
                 "Table of parts (CSV): switches, NICs, cables and transceivers with price, watts and reach; "
                 "bom --sample writes one to start from");
  sub.add_option("--boxes-per-rack", options.boxesPerRack, "Boxes in a rack")->capture_default_str()->group(group);
  sub.add_option("--switches-per-rack", options.switchesPerRack, "Switches in a network rack, in the middle of the row")
      ->capture_default_str()
      ->group(group);
  const auto length = [&](const char* name, std::string& value, const char* help) {
    sub.add_option(name, value, help)->capture_default_str()->group(group);
  };
  length("--rack-pitch", options.rackPitch, "From one rack to the next");
  length("--rack-height", options.rackHeight, "Height of a rack that can be used");
  length("--box-height", options.boxHeight, "Height of a box with the space around it");
  length("--switch-height", options.switchHeight, "Height of a switch with its cable guide");
  length("--tray-height", options.trayHeight, "Height of the cable tray above the racks");
  length("--slack", options.slack, "Length added to each cable");
  sub.add_flag("--top-of-rack", options.isTopOfRack,
               "A leaf whose boxes all stand in one rack is at the top of it, where there is space")
      ->group(group);
}

Result<bom::Parts> readParts(const PartsOptions& options) {
  if (options.file.empty()) {
    return workflow::optionError("parts", "no table of parts is given", "bom --sample -o parts.csv writes a sample");
  }
  const auto text = readText(options.file);
  if (!text) {
    return text.error();
  }
  return bom::readParts(*text, inputName(options.file));
}

Result<bom::Floor> readFloor(const PartsOptions& options) {
  bom::Floor floor;
  floor.boxesPerRack = options.boxesPerRack;
  floor.switchesPerRack = options.switchesPerRack;
  floor.isTopOfRack = options.isTopOfRack;
  struct Length {
    const char* option;
    const std::string& text;
    Rational& value;
  };
  for (const Length& length : std::array<Length, 6>{{{"rack-pitch", options.rackPitch, floor.rackPitch},
                                                     {"rack-height", options.rackHeight, floor.rackHeight},
                                                     {"box-height", options.boxHeight, floor.boxHeight},
                                                     {"switch-height", options.switchHeight, floor.switchHeight},
                                                     {"tray-height", options.trayHeight, floor.trayHeight},
                                                     {"slack", options.slack, floor.slack}}}) {
    const auto value = Rational::parse(length.text);
    if (!value) {
      return workflow::optionError(length.option, inQuotes(length.text) + " is not a length",
                                   "give metres, such as 0.6");
    }
    length.value = *value;
  }
  if (const Outcome checked = bom::checkFloor(floor); !checked) {
    const ElementPart* const parameter = checked.error().where.element.as(RefKind::parameter);
    return workflow::optionError(parameter->name, checked.error().message, checked.error().fix);
  }
  return floor;
}

std::string billText(const bom::Bill& bill, const bom::Parts& parts) {
  const auto padded = [](std::string text, std::size_t width, bool isNumber) {
    const std::string space(width > text.size() ? width - text.size() : 0, ' ');
    return isNumber ? space + text : text + space;
  };
  std::size_t name = std::string("total").size();
  for (const bom::BillLine& line : bill.lines) {
    name = std::max(name, oneLine(parts.rows[line.part].name).size());
  }
  constexpr std::size_t kKind = 13;
  constexpr std::size_t kNumber = 9;
  constexpr std::size_t kAmount = 14;
  const auto row = [&](const std::string& kind, const std::string& part, const std::string& pieces,
                       const std::string& metres, const std::string& price, const std::string& watts) {
    return "  " + padded(kind, kKind, false) + padded(part, name, false) + padded(pieces, kNumber, true) +
           padded(metres, kNumber, true) + padded(price, kAmount, true) + padded(watts, kAmount, true) + "\n";
  };
  std::string text = row("", "part", "pieces", "metres", "price", "watts");
  for (const bom::BillLine& line : bill.lines) {
    const bom::Part& part = parts.rows[line.part];
    text += row(std::string(toString(part.kind)), oneLine(part.name), std::to_string(line.pieces),
                part.isCable() ? toDecimal(line.metres, 1) : std::string(), toDecimal(line.cost.price),
                toDecimal(line.cost.watts));
  }
  return text + row("total", "", "", "", toDecimal(bill.total.price), toDecimal(bill.total.watts));
}

Json billJson(const bom::Bill& bill, const bom::Parts& parts) {
  Json json{{"price", bill.total.price.toString()},
            {"watts", bill.total.watts.toString()},
            {"port_rate", toFraction(bill.portRate)},
            {"parts", Json::array()}};
  for (const bom::BillLine& line : bill.lines) {
    const bom::Part& part = parts.rows[line.part];
    json["parts"].push_back({{"kind", toString(part.kind)},
                             {"part", part.name},
                             {"pieces", line.pieces},
                             {"metres", part.isCable() ? Json(line.metres.toString()) : Json(nullptr)},
                             {"price", line.cost.price.toString()},
                             {"watts", line.cost.watts.toString()}});
  }
  return json;
}

}  // namespace coppice::cli
