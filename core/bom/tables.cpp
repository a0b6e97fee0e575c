// SPDX-License-Identifier: Apache-2.0
#include "bom/tables.hpp"

#include <map>
#include <vector>

#include "base/csv.hpp"
#include "bom/port_cover.hpp"

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

namespace {

/// The ports of a node in the order of its cables: "7", or "7/2" for the second of those that port 7 is split into.
class Ports {
public:
  void add(const PortUse& use) { m_uses[use.rate].push_back(use); }

  /// @param rate 0: ports of a NIC or GPU, which are alike
  std::string next(const Bandwidth& rate) {
    int& number = m_next[rate];
    int at = number++;
    for (const PortUse& use : m_uses[rate]) {
      if (at < use.ports * use.split) {
        return std::to_string(use.firstPort + at / use.split + 1) +
               (use.split > 1 ? "/" + std::to_string(at % use.split + 1) : std::string());
      }
      at -= use.ports * use.split;
    }
    return std::to_string(number);
  }

private:
  std::map<Bandwidth, std::vector<PortUse>> m_uses;
  std::map<Bandwidth, int> m_next;
};

std::vector<Ports> portsOf(const Bill& bill, const Parts& parts) {
  std::vector<PortNeeds> needs(bill.partOf.size());
  for (const CableRun& run : bill.runs) {
    for (const fabric::NodeIndex end : {run.from, run.to}) {
      needs[end][run.portRate] += run.count;
    }
  }
  std::vector<Ports> ports(bill.partOf.size());
  for (std::size_t node = 0; node < ports.size(); ++node) {
    const int row = bill.partOf[node];
    if (row >= 0 && parts.rows[row].kind == PartKind::networkSwitch) {
      for (const PortUse& use : coverPorts(parts.rows[row], needs[node]).uses) {
        ports[node].add(use);
      }
    }
  }
  return ports;
}

}  // namespace

std::string cableCsv(const fabric::Fabric& fabric, const Bill& bill, const Parts& parts) {
  std::string text = "cable,from,from_rack,from_port,to,to_rack,to_port,rate_GBps,length_m,part\n";
  std::vector<Ports> ports = portsOf(bill, parts);
  const auto end = [&](fabric::NodeIndex node, const Bandwidth& rate) {
    return csvField(fabric.nodes()[node].id) + "," + bill.plan.spots[node].rack + "," + ports[node].next(rate);
  };
  std::int64_t number = 0;
  for (const CableRun& run : bill.runs) {
    for (int i = 0; i < run.count; ++i) {
      text += std::to_string(++number) + "," + end(run.from, run.portRate) + ",";
      text += end(run.to, run.portRate) + "," + toExactText(run.rate) + "," + toExactText(run.length) + "," +
              csvField(parts.rows[run.part].name) + "\n";
    }
  }
  return text;
}

}  // namespace coppice::bom
