// SPDX-License-Identifier: Apache-2.0
#include "bom/tables.hpp"

#include "base/csv.hpp"

namespace coppice::bom {

std::string billCsv(const Bill& bill, const Parts& parts) {
  std::string text = "kind,part,pieces,metres,price,watts\n";
  for (const BillLine& line : bill.lines) {
    const Part& part = parts.rows[line.part];
    text += std::string(toString(part.kind)) + "," + csvField(part.name) + "," + std::to_string(line.pieces) + "," +
            (part.isCable() ? toExactText(line.metres) : std::string()) + "," + toExactText(line.cost.price) + "," +
            toExactText(line.cost.watts) + "\n";
  }
  return text + "total,,,," + toExactText(bill.total.price) + "," + toExactText(bill.total.watts) + "\n";
}

std::string cableCsv(const fabric::Fabric& fabric, const Bill& bill, const Parts& parts) {
  std::string text = "cable,from,from_rack,from_port,to,to_rack,to_port,rate_GBps,length_m,part\n";
  std::vector<int> ports(static_cast<std::size_t>(fabric.nodeCount()), 0);
  const auto end = [&](fabric::NodeIndex node) {
    return csvField(fabric.nodes()[node].id) + "," + bill.plan.spots[node].rack + "," + std::to_string(++ports[node]);
  };
  std::int64_t number = 0;
  for (const CableRun& run : bill.runs) {
    for (int i = 0; i < run.count; ++i) {
      text += std::to_string(++number) + "," + end(run.from) + ",";
      text += end(run.to) + "," + toExactText(run.rate) + "," + toExactText(run.length) + "," +
              csvField(parts.rows[run.part].name) + "\n";
    }
  }
  return text;
}

}  // namespace coppice::bom
