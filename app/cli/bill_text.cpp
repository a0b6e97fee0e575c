// SPDX-License-Identifier: Apache-2.0
#include "bill_text.hpp"

#include <algorithm>

#include "base/one_line.hpp"
#include "input.hpp"

namespace coppice::cli {

void addPartsOptions(CLI::App& sub, workflow::Values& values) {
  addOptions(sub, workflow::partsOptions(), values);
  addOptions(sub, workflow::floorOptions(), values, workflow::floorOptions().front().group);
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
            {"uplink_rate", toFraction(bill.uplinkRate)},
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

std::string partsNotes(const workflow::PartsAndFloor& priced) {
  return std::string(priced.isSample
                         ? "  prices      round numbers of the sample, of no maker or seller; --parts has yours\n"
                         : "") +
         (priced.parts.has(bom::PartKind::nic) ? "" : "  not in it   NICs, as the table of parts has none\n");
}

}  // namespace coppice::cli
