// SPDX-License-Identifier: Apache-2.0
#include "bom/bill.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "bom/port_cover.hpp"

namespace coppice::bom {
namespace {

using fabric::NodeIndex;

constexpr const char* kOverflowFix = "use prices, lengths and bandwidths with fewer digits";

std::string metres(const Rational& value) {
  return toExactText(value) + " m";
}

std::string rateText(const Bandwidth& rate) {
  return toExactText(rate) + " GB/s";
}

std::int64_t ceiling(const Rational& value) {
  return -(-value).floor();
}

/// A pair of nodes that are joined outside of boxes.
struct Link {
  NodeIndex from = 0;
  NodeIndex to = 0;
  Bandwidth bandwidth;
  Rational length;
  std::size_t kind = 0;  ///< that of links with this bandwidth and length
};

std::vector<Link> linksBetweenBoxes(const fabric::Fabric& fabric, const FloorPlan& plan, const Floor& floor) {
  std::map<std::pair<NodeIndex, NodeIndex>, Bandwidth> found;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const int a = plan.boxOf[arc.tail];
    const int b = plan.boxOf[arc.head];
    if (a >= 0 && a == b) {
      continue;
    }
    // Boxes first; among switches the one that comes first in the fabric, which is nearer to the boxes.
    const auto place = [&](NodeIndex node) { return std::pair(plan.boxOf[node] < 0, node); };
    const auto ends = place(arc.tail) < place(arc.head) ? std::pair(arc.tail, arc.head) : std::pair(arc.head, arc.tail);
    Bandwidth& bandwidth = found[ends];
    bandwidth = std::max(bandwidth, arc.bandwidth);
  }
  std::vector<Link> links;
  for (const auto& [ends, bandwidth] : found) {
    links.push_back(
        {ends.first, ends.second, bandwidth, lengthBetween(plan.spots[ends.first], plan.spots[ends.second], floor)});
  }
  std::map<std::pair<Bandwidth, Rational>, std::size_t> kinds;
  for (Link& link : links) {
    link.kind = kinds.try_emplace({link.bandwidth, link.length}, kinds.size()).first->second;
  }
  return links;
}

/// What does not depend on what is bought.
struct Site {
  FloorPlan plan;
  std::vector<Link> links;

  Site(const fabric::Fabric& fabric, const Floor& floor)
      : plan(orThrow(planFloor(fabric, floor))), links(linksBetweenBoxes(fabric, plan, floor)) {}
};

class Buyer {
public:
  Buyer(const fabric::Fabric& fabric, const Site& site, const Parts& parts, Preference preference,
        const Progress& progress)
      : m_fabric(fabric),
        m_plan(site.plan),
        m_links(site.links),
        m_parts(parts),
        m_preference(preference),
        m_progress(progress) {
    for (std::size_t i = 0; i < m_links.size(); ++i) {
      if (isNetwork(m_links[i].to) && !isNetwork(m_links[i].from)) {
        m_linksOfBox[m_links[i].from].push_back(i);
      }
    }
  }

  Bill run() {
    std::optional<Bill> best;
    std::optional<Error> fault;
    std::int64_t missing = 0;
    for (const auto& [down, up] : portRates()) {
      throwIfCancelled(m_progress);
      m_missing = 0;
      try {
        Bill bill = bought(down, up);
        if (!best || bill.total.isBelow(best->total, m_preference)) {
          best = std::move(bill);
        }
      } catch (const Failure& failure) {
        // The one that misses the fewest ports tells best what to add.
        if (!fault || m_missing <= missing) {
          fault = failure.error;
          missing = m_missing;
        }
      }
    }
    if (!best) {
      throw Failure{*fault};
    }
    best->plan = m_plan;
    std::sort(best->runs.begin(), best->runs.end(),
              [](const CableRun& a, const CableRun& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
    return *std::move(best);
  }

private:
  [[nodiscard]] bool isNetwork(NodeIndex node) const { return m_plan.boxOf[node] < 0; }
  [[nodiscard]] const std::string& idOf(NodeIndex node) const { return m_fabric.nodes()[node].id; }

  [[noreturn]] void refuse(std::string message, std::string fix) const {
    throw Failure{Error{ErrorCode::badInput, std::move(message), std::move(fix), Place{.file = m_parts.fileName}}};
  }

  using Rates = std::pair<Bandwidth, Bandwidth>;

  /// Of ports to boxes and to other switches: the same, or two that one switch of the table has; without switches in
  /// the fabric, one that stands for none.
  [[nodiscard]] std::set<Rates> portRates() const {
    if (std::none_of(m_plan.boxOf.begin(), m_plan.boxOf.end(), [](int box) { return box < 0; })) {
      return {Rates()};
    }
    const bool hasUplinks = std::any_of(m_links.begin(), m_links.end(),
                                        [&](const Link& link) { return isNetwork(link.from) && isNetwork(link.to); });
    std::set<Rates> rates;
    for (const Part& part : m_parts.rows) {
      if (part.kind == PartKind::networkSwitch) {
        const std::vector<Bandwidth> ofPart = ratesOf(part);
        for (const Bandwidth& down : ofPart) {
          for (const Bandwidth& up : hasUplinks ? ofPart : std::vector{down}) {
            rates.emplace(down, up);
          }
        }
      }
    }
    if (rates.empty()) {
      refuse("the table has no switch, and the fabric has", "add a row of the kind switch");
    }
    return rates;
  }

  [[nodiscard]] Bill bought(const Bandwidth& portRate, const Bandwidth& uplinkRate) {
    Bill bill;
    bill.partOf.assign(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
    bill.portsUsed.assign(static_cast<std::size_t>(m_fabric.nodeCount()), 0);
    bill.portRate = portRate;
    bill.uplinkRate = uplinkRate;
    m_needs.clear();
    m_nics.clear();
    m_bought.assign(m_parts.rows.size(), {});
    for (const auto& [node, links] : m_linksOfBox) {
      buyNic(node, links, bill);
    }
    for (const Link& link : m_links) {
      if (!isNetwork(link.from) && !isNetwork(link.to)) {
        lay(link, bestDirect(link), Bandwidth(), bill);
      } else if (isNetwork(link.from) && isNetwork(link.to)) {
        lay(link, cablesAt(link, uplinkRate), uplinkRate, bill);
      }
    }
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      if (isNetwork(node)) {
        bill.partOf[node] = switchFor(node, m_needs[node]);
      }
    }
    addUp(bill);
    return bill;
  }

  struct Cables {
    int part = -1;
    std::int64_t count = 0;
    Bandwidth rate;
    Cost cost;
  };

  [[nodiscard]] Cost costOfCable(const Part& part, const Rational& length) const {
    const Cost pieces = Cost{part.price, part.watts} * Rational(part.piecesPerCable());
    return {pieces.price + part.pricePerMetre * length, pieces.watts};
  }

  /// The best part for a cable that runs at this rate; -1 = none reaches.
  [[nodiscard]] int cableFor(const Bandwidth& rate, const Rational& length) {
    const auto [found, isNew] = m_cables.try_emplace({rate, length}, -1);
    for (std::size_t i = 0; isNew && i < m_parts.rows.size(); ++i) {
      const Part& part = m_parts.rows[i];
      if (!part.isCable() || part.rate < rate || part.reach < length) {
        continue;
      }
      if (found->second < 0 ||
          costOfCable(part, length).isBelow(costOfCable(m_parts.rows[found->second], length), m_preference)) {
        found->second = static_cast<int>(i);
      }
    }
    return found->second;
  }

  [[nodiscard]] const Cables& cablesAt(const Link& link, const Bandwidth& rate) {
    std::vector<std::optional<Cables>>& known = m_cablesAt[rate];
    if (known.size() <= link.kind) {
      known.resize(link.kind + 1);
    }
    std::optional<Cables>& cables = known[link.kind];
    if (!cables) {
      const int part = cableFor(rate, link.length);
      if (part < 0) {
        refuseLength(link, rate);
      }
      const std::int64_t count = ceiling(link.bandwidth / rate);
      cables = {part, count, rate, costOfCable(m_parts.rows[part], link.length) * Rational(count)};
    }
    return *cables;
  }

  [[noreturn]] void refuseLength(const Link& link, const Bandwidth& rate) const {
    Rational longest;
    for (const Part& part : m_parts.rows) {
      if (part.isCable() && part.rate >= rate) {
        longest = std::max(longest, part.reach);
      }
    }
    refuse("no cable " + (rate.isZero() ? std::string() : "of " + rateText(rate) + " ") + "spans the " +
               metres(link.length) + " from " + inQuotes(idOf(link.from)) + " to " + inQuotes(idOf(link.to)) +
               (longest.isZero() ? std::string() : "; the longest spans " + metres(longest)),
           "add a row of the kind copper, aoc or transceiver with this rate and reach");
  }

  /// Without ports of a switch or NIC that set the rate: whatever cable is best.
  [[nodiscard]] Cables bestDirect(const Link& link) {
    std::optional<Cables> best;
    for (const Part& part : m_parts.rows) {
      if (!part.isCable() || part.reach < link.length) {
        continue;
      }
      const Cables cables = cablesAt(link, part.rate);
      if (!best || cables.cost.isBelow(best->cost, m_preference)) {
        best = cables;
      }
    }
    if (!best) {
      refuseLength(link, Bandwidth());
    }
    return *best;
  }

  /// The NIC of a node of a box, with its cables to switches. Nodes with alike links take the same.
  void buyNic(NodeIndex node, const std::vector<std::size_t>& links, Bill& bill) {
    std::vector<std::size_t> kinds;
    for (const std::size_t link : links) {
      kinds.push_back(m_links[link].kind);
    }
    const auto [nic, isNew] = m_nics.try_emplace(std::move(kinds));
    if (isNew) {
      nic->second = nicFor(node, links, bill);
    }
    bill.partOf[node] = nic->second.part;
    for (std::size_t i = 0; i < links.size(); ++i) {
      lay(m_links[links[i]], nic->second.cables[i], bill.portRate, bill);
    }
  }

  struct Nic {
    int part = -1;  ///< -1 = it comes with the box
    std::vector<Cables> cables;
  };

  [[nodiscard]] Nic nicFor(NodeIndex node, const std::vector<std::size_t>& links, const Bill& bill) {
    std::optional<Nic> best;
    Cost least;
    std::optional<Error> fault;
    std::int64_t wanted = 0;
    const auto consider = [&](int nic) {
      std::vector<Cables> cables;
      Cost cost;
      std::int64_t ports = 0;
      Bandwidth rate = bill.portRate;
      if (nic >= 0) {
        const Part& part = m_parts.rows[nic];
        cost = {part.price, part.watts};
        rate = std::min(rate, part.rate);
      }
      for (const std::size_t link : links) {
        ports = checkedAdd(ports, ceiling(m_links[link].bandwidth / rate));
      }
      if (nic >= 0 && ports > m_parts.rows[nic].ports) {
        wanted = wanted == 0 ? ports : std::min(wanted, ports);
        return;
      }
      for (const std::size_t link : links) {
        cables.push_back(cablesAt(m_links[link], rate));
        cost += cables.back().cost;
      }
      if (!best || cost.isBelow(least, m_preference)) {
        best = Nic{nic, std::move(cables)};
        least = cost;
      }
    };
    const bool hasNics = m_parts.has(PartKind::nic);
    for (std::size_t i = 0; hasNics && i < m_parts.rows.size(); ++i) {
      if (m_parts.rows[i].kind == PartKind::nic) {
        try {
          consider(static_cast<int>(i));
        } catch (const Failure& failure) {
          fault = failure.error;
        }
      }
    }
    if (!hasNics) {
      consider(-1);  // comes with the box, with whatever ports it needs
    }
    if (!best && fault) {
      throw Failure{*fault};
    }
    if (!best) {
      refuseNic(node, links, wanted);
    }
    return *std::move(best);
  }

  [[noreturn]] void refuseNic(NodeIndex node, const std::vector<std::size_t>& links, std::int64_t wanted) const {
    Bandwidth sum;
    for (const std::size_t link : links) {
      sum += m_links[link].bandwidth;
    }
    refuse("no NIC has the " + counted(wanted, "port") + " for the " + rateText(sum) + " of " + inQuotes(idOf(node)),
           "add a row of the kind nic with enough ports of a high enough rate");
  }

  /// The best switch with enough ports; -1 = none. Otherwise how many the nearest one misses.
  struct Choice {
    int part = -1;
    int missing = 0;
  };

  [[nodiscard]] const Choice& choiceFor(const PortNeeds& needs) {
    const auto [found, isNew] = m_switches.try_emplace(needs);
    Choice& choice = found->second;
    for (std::size_t i = 0; isNew && i < m_parts.rows.size(); ++i) {
      const Part& part = m_parts.rows[i];
      if (part.kind != PartKind::networkSwitch) {
        continue;
      }
      const int missing = coverPorts(part, needs).missing;
      const auto cost = [&](int row) { return Cost{m_parts.rows[row].price, m_parts.rows[row].watts}; };
      if (missing > 0) {
        choice.missing = choice.missing == 0 ? missing : std::min(choice.missing, missing);
      } else if (choice.part < 0 || cost(static_cast<int>(i)).isBelow(cost(choice.part), m_preference)) {
        choice.part = static_cast<int>(i);
      }
    }
    return choice;
  }

  [[nodiscard]] int switchFor(NodeIndex node, const PortNeeds& needs) {
    const Choice& choice = choiceFor(needs);
    if (choice.part < 0) {
      m_missing = choice.missing;
      std::string wanted;
      int ports = 0;
      for (const auto& [rate, count] : needs) {
        wanted += (wanted.empty() ? "" : " and ") + counted(count, "port") + " of " + rateText(rate);
        ports += count;
      }
      refuse("no switch has the " + wanted + " that " + inQuotes(idOf(node)) + " needs; the " +
                 (needs.size() > 1 ? "nearest misses " + std::to_string(choice.missing)
                                   : "largest has " + std::to_string(ports - choice.missing)),
             "add a larger switch to the table, or build the fabric of more switches");
    }
    return choice.part;
  }

  /// @param portRate of the ports of switches at its ends
  void lay(const Link& link, const Cables& cables, const Bandwidth& portRate, Bill& bill) {
    constexpr std::int64_t kMaxCables = 1'000'000;
    if (cables.count > kMaxCables) {
      refuse("a link of " + rateText(link.bandwidth) + " from " + inQuotes(idOf(link.from)) + " is more than " +
                 std::to_string(kMaxCables) + " cables of " + rateText(cables.rate),
             "use parts of a higher rate");
    }
    const int count = static_cast<int>(cables.count);
    bill.runs.push_back({link.from, link.to, count, link.length, cables.rate, link.bandwidth, cables.part, portRate});
    Bought& bought = m_bought[cables.part];
    if (bought.cables.size() <= link.kind) {
      bought.cables.resize(link.kind + 1);
    }
    bought.cables[link.kind].count += count;
    bought.cables[link.kind].length = link.length;
    for (const NodeIndex end : {link.from, link.to}) {
      bill.portsUsed[end] = checkedAdd(bill.portsUsed[end], count);
      if (isNetwork(end)) {
        m_needs[end][portRate] += count;
      }
    }
  }

  /// Pieces first, then what they cost: sums of fractions take long.
  void addUp(Bill& bill) {
    for (const int part : bill.partOf) {
      if (part >= 0) {
        ++m_bought[part].pieces;
      }
    }
    for (std::size_t row = 0; row < m_bought.size(); ++row) {
      const Part& part = m_parts.rows[row];
      BillLine line{.part = static_cast<int>(row), .pieces = m_bought[row].pieces, .metres = {}, .cost = {}};
      line.cost = Cost{part.price, part.watts} * Rational(line.pieces);
      for (const auto& [count, length] : m_bought[row].cables) {
        if (count > 0) {
          line.pieces += count * part.piecesPerCable();
          line.metres += length * Rational(count);
          line.cost += costOfCable(part, length) * Rational(count);
        }
      }
      if (line.pieces > 0) {
        bill.total += line.cost;
        bill.lines.push_back(std::move(line));
      }
    }
  }

  /// Of one part, at the rates that are tried.
  struct Bought {
    struct Cables {
      std::int64_t count = 0;
      Rational length;
    };
    std::int64_t pieces = 0;          ///< switches and NICs
    std::vector<Cables> cables = {};  ///< by kind of link
  };

  const fabric::Fabric& m_fabric;
  const FloorPlan& m_plan;
  const std::vector<Link>& m_links;
  const Parts& m_parts;
  Preference m_preference;
  const Progress& m_progress;
  std::map<NodeIndex, std::vector<std::size_t>> m_linksOfBox;          ///< to switches, by their node in the box
  std::map<std::pair<Bandwidth, Rational>, int> m_cables;              ///< answers of cableFor
  std::map<Bandwidth, std::vector<std::optional<Cables>>> m_cablesAt;  ///< answers of cablesAt, by kind of link
  std::map<std::vector<std::size_t>, Nic> m_nics;  ///< by kinds of links, at the rates that are tried
  std::vector<Bought> m_bought;                    ///< by part
  std::map<NodeIndex, PortNeeds> m_needs;          ///< of the switches, at the rates that are tried
  std::map<PortNeeds, Choice> m_switches;          ///< answers of choiceFor
  std::int64_t m_missing = 0;                      ///< ports, of the switch that was refused
};

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  price += other.price;
  watts += other.watts;
  return *this;
}

bool Cost::isBelow(const Cost& other, Preference preference) const {
  return preference == Preference::price ? std::tie(price, watts) < std::tie(other.price, other.watts)
                                         : std::tie(watts, price) < std::tie(other.watts, other.price);
}

Result<Bill> billOf(const fabric::Fabric& fabric, const Parts& parts, const Floor& floor, Preference preference,
                    const Progress& progress) {
  return guarded([&] { return Buyer(fabric, Site(fabric, floor), parts, preference, progress).run(); },
                 {.overflowFix = kOverflowFix});
}

Result<std::array<Cost, 2>> costsOf(const fabric::Fabric& fabric, const Parts& parts, const Floor& floor,
                                    const Progress& progress) {
  return guarded(
      [&] {
        const Site site(fabric, floor);
        return std::array{Buyer(fabric, site, parts, Preference::price, progress).run().total,
                          Buyer(fabric, site, parts, Preference::watts, progress).run().total};
      },
      {.overflowFix = kOverflowFix});
}

}  // namespace coppice::bom
