// SPDX-License-Identifier: Apache-2.0
#include "fabric/comparison.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/natural_order.hpp"
#include "base/text.hpp"
#include "fabric/structural_boxes.hpp"

namespace coppice::fabric {
namespace {

/// The last number of an id: 3 of "b0nic3"; -1 without one.
long lastNumber(std::string_view id) {
  std::size_t end = id.size();
  while (end > 0 && (id[end - 1] < '0' || id[end - 1] > '9')) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && id[begin - 1] >= '0' && id[begin - 1] <= '9') {
    --begin;
  }
  long value = -1;
  std::from_chars(id.data() + begin, id.data() + end, value);
  return value;
}

std::string_view hostOf(const Node& node) {
  return std::string_view(node.box).substr(0, node.box.find('/'));
}

/// Hosts in natural order of their names, with their nodes.
std::vector<std::pair<std::string, std::vector<NodeIndex>>> hostsOf(const Fabric& fabric) {
  std::map<std::string, std::vector<NodeIndex>, std::less<>> byName;
  for (NodeIndex i = 0; i < fabric.nodeCount(); ++i) {
    if (const std::string_view host = hostOf(fabric.nodes()[i]); !host.empty()) {
      byName[std::string(host)].push_back(i);
    }
  }
  std::vector<std::pair<std::string, std::vector<NodeIndex>>> hosts(byName.begin(), byName.end());
  std::sort(hosts.begin(), hosts.end(), [](const auto& a, const auto& b) { return naturalLess(a.first, b.first); });
  return hosts;
}

class WiredComparison {
public:
  WiredComparison(const Fabric& plan, const Fabric& wired) : m_plan(withBoxes(plan)), m_wired(withBoxes(wired)) {}

  FabricComparison run() {
    m_result.wiredOf.assign(static_cast<std::size_t>(m_plan.nodeCount()), -1);
    m_planOf.assign(static_cast<std::size_t>(m_wired.nodeCount()), -1);
    int sameGpus = 0;
    for (const NodeIndex gpu : m_plan.gpus()) {
      sameGpus += m_wired.find(m_plan.nodes()[gpu].id) ? 1 : 0;
    }
    m_result.isById = 2 * sameGpus >= m_plan.gpuCount();
    if (m_result.isById) {
      matchIds();
    } else {
      matchHosts();
      matchSwitches();
    }
    listNodes();
    listLinks();
    gatherAlike();
    return std::move(m_result);
  }

private:
  [[nodiscard]] const std::string& planId(NodeIndex node) const { return m_plan.nodes()[node].id; }
  [[nodiscard]] const std::string& wiredId(NodeIndex node) const { return m_wired.nodes()[node].id; }
  [[nodiscard]] NodeIndex wiredOf(NodeIndex node) const { return m_result.wiredOf[static_cast<std::size_t>(node)]; }
  [[nodiscard]] NodeIndex planOf(NodeIndex node) const { return m_planOf[static_cast<std::size_t>(node)]; }

  void match(NodeIndex plan, NodeIndex wired) {
    m_result.wiredOf[static_cast<std::size_t>(plan)] = wired;
    m_planOf[static_cast<std::size_t>(wired)] = plan;
  }

  static Bandwidth between(const Fabric& fabric, NodeIndex a, NodeIndex b) {
    const auto arc = fabric.findArc(a, b);
    return arc ? fabric.arcs()[static_cast<std::size_t>(*arc)].bandwidth : Bandwidth();
  }

  void matchIds() {
    for (NodeIndex i = 0; i < m_plan.nodeCount(); ++i) {
      if (const auto found = m_wired.find(planId(i)); found && m_wired.nodes()[*found].kind == m_plan.nodes()[i].kind) {
        match(i, *found);
      }
    }
  }

  void matchHosts() {
    auto planned = hostsOf(m_plan);
    auto wired = hostsOf(m_wired);
    std::map<std::string, std::size_t> byName;
    for (std::size_t i = 0; i < wired.size(); ++i) {
      byName.emplace(wired[i].first, i);
    }
    std::vector<bool> isTaken(wired.size(), false);
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < planned.size(); ++i) {
      if (const auto found = byName.find(planned[i].first); found != byName.end()) {
        isTaken[found->second] = true;
        matchInside(planned[i].second, wired[found->second].second);
      } else {
        rest.push_back(i);
      }
    }
    std::size_t next = 0;
    for (const std::size_t i : rest) {
      while (next < wired.size() && isTaken[next]) {
        ++next;
      }
      if (next < wired.size()) {
        matchInside(planned[i].second, wired[next++].second);
      }
    }
  }

  /// By kind: the same numbers, then in natural order.
  void matchInside(const std::vector<NodeIndex>& planned, const std::vector<NodeIndex>& wired) {
    for (const NodeKind kind : {NodeKind::gpu, NodeKind::nic, NodeKind::switchNode}) {
      std::vector<NodeIndex> a;
      std::vector<NodeIndex> b;
      std::copy_if(planned.begin(), planned.end(), std::back_inserter(a),
                   [&](NodeIndex i) { return m_plan.nodes()[i].kind == kind; });
      std::copy_if(wired.begin(), wired.end(), std::back_inserter(b),
                   [&](NodeIndex i) { return m_wired.nodes()[i].kind == kind; });
      std::sort(a.begin(), a.end(), [&](NodeIndex x, NodeIndex y) { return naturalLess(planId(x), planId(y)); });
      std::sort(b.begin(), b.end(), [&](NodeIndex x, NodeIndex y) { return naturalLess(wiredId(x), wiredId(y)); });
      if (a.size() != b.size()) {
        std::map<long, NodeIndex> byNumber;
        for (const NodeIndex i : b) {
          byNumber.emplace(lastNumber(wiredId(i)), i);
        }
        for (const NodeIndex i : a) {
          const auto found = byNumber.find(lastNumber(planId(i)));
          if (found != byNumber.end() && planOf(found->second) < 0) {
            match(i, found->second);
          }
        }
      }
      auto next = b.begin();
      for (const NodeIndex i : a) {
        if (wiredOf(i) >= 0) {
          continue;
        }
        next = std::find_if(next, b.end(), [&](NodeIndex x) { return planOf(x) < 0; });
        if (next == b.end()) {
          break;
        }
        match(i, *next);
      }
    }
  }

  /// Switches of the network by their matched neighbours, from the hosts outwards: the pairs with most in common first.
  void matchSwitches() {
    for (bool again = true; again;) {
      again = false;
      std::map<std::pair<NodeIndex, NodeIndex>, int> votes;
      for (const Arc& arc : m_plan.arcs()) {
        if (wiredOf(arc.tail) >= 0 || wiredOf(arc.head) < 0 || m_plan.nodes()[arc.tail].kind == NodeKind::gpu) {
          continue;
        }
        for (const NodeIndex other : wiredNeighbours(wiredOf(arc.head))) {
          if (planOf(other) < 0 && m_wired.nodes()[other].kind == m_plan.nodes()[arc.tail].kind) {
            ++votes[{arc.tail, other}];
          }
        }
      }
      std::vector<std::pair<int, std::pair<NodeIndex, NodeIndex>>> order;
      for (const auto& [pair, count] : votes) {
        order.emplace_back(-count, pair);
      }
      std::sort(order.begin(), order.end());
      for (const auto& [count, pair] : order) {
        if (wiredOf(pair.first) < 0 && planOf(pair.second) < 0) {
          match(pair.first, pair.second);
          again = true;
        }
      }
    }
  }

  const std::vector<NodeIndex>& wiredNeighbours(NodeIndex node) {
    if (m_neighbours.empty()) {
      m_neighbours.resize(static_cast<std::size_t>(m_wired.nodeCount()));
      for (const Arc& arc : m_wired.arcs()) {
        m_neighbours[static_cast<std::size_t>(arc.tail)].push_back(arc.head);
      }
    }
    return m_neighbours[static_cast<std::size_t>(node)];
  }

  void add(DifferenceKind kind, std::string text, std::vector<std::string> planned, std::vector<std::string> wired = {},
           const Bandwidth& plannedBandwidth = {}, const Bandwidth& wiredBandwidth = {}, std::string movedTo = {}) {
    m_result.differences.push_back({kind, std::move(text), std::move(planned), std::move(wired), plannedBandwidth,
                                    wiredBandwidth, std::move(movedTo)});
  }

  void listNodes() {
    std::set<NodeIndex> told;
    for (const auto& [name, nodes] : hostsOf(m_plan)) {
      if (std::all_of(nodes.begin(), nodes.end(), [&](NodeIndex i) { return wiredOf(i) < 0; })) {
        add(DifferenceKind::missingHost, "host " + inQuotes(name) + " of the plan is missing", {name});
        told.insert(nodes.begin(), nodes.end());
      }
    }
    for (NodeIndex i = 0; i < m_plan.nodeCount(); ++i) {
      if (wiredOf(i) < 0 && !told.contains(i)) {
        add(DifferenceKind::missingNode,
            std::string(toString(m_plan.nodes()[i].kind)) + " " + inQuotes(planId(i)) + " of the plan is missing",
            {planId(i)});
      }
    }
    for (const auto& [name, nodes] : hostsOf(m_wired)) {
      if (std::all_of(nodes.begin(), nodes.end(), [&](NodeIndex i) { return planOf(i) < 0; })) {
        add(DifferenceKind::extraHost, "host " + inQuotes(name) + " is not in the plan", {}, {name});
      }
    }
  }

  void listLinks() {
    // Where a node of a host reaches another switch of the network than planned.
    std::map<NodeIndex, std::vector<NodeIndex>> unplanned;
    std::vector<std::pair<NodeIndex, NodeIndex>> extra;
    for (const Arc& arc : m_wired.arcs()) {
      const NodeIndex a = planOf(arc.tail);
      const NodeIndex b = planOf(arc.head);
      const bool isPlanned = a >= 0 && b >= 0 && between(m_plan, a, b).isPositive();
      if (isPlanned) {
        continue;
      }
      const bool isUp = !m_wired.nodes()[arc.tail].box.empty() && m_wired.nodes()[arc.head].box.empty();
      if (isUp && a >= 0) {
        unplanned[arc.tail].push_back(arc.head);
      } else if (a >= 0 && b >= 0 && arc.tail < arc.head &&
                 m_wired.nodes()[arc.tail].box.empty() == m_wired.nodes()[arc.head].box.empty()) {
        extra.emplace_back(arc.tail, arc.head);
      }
    }
    for (const Arc& arc : m_plan.arcs()) {
      const bool isBack = arc.head < arc.tail && between(m_plan, arc.head, arc.tail) == arc.bandwidth;
      const NodeIndex a = wiredOf(arc.tail);
      const NodeIndex b = wiredOf(arc.head);
      if (isBack || a < 0 || b < 0) {
        continue;
      }
      compareLink(arc, a, b, unplanned);
    }
    for (const auto& [node, switches] : unplanned) {
      for (const NodeIndex other : switches) {
        add(DifferenceKind::extraCable,
            "a cable from " + inQuotes(wiredId(node)) + " to " + inQuotes(wiredId(other)) + " is not in the plan", {},
            {wiredId(node), wiredId(other)}, {}, between(m_wired, node, other));
      }
    }
    for (const auto& [a, b] : extra) {
      add(DifferenceKind::extraCable,
          "a link between " + inQuotes(wiredId(a)) + " and " + inQuotes(wiredId(b)) + " is not in the plan", {},
          {wiredId(a), wiredId(b)}, {}, between(m_wired, a, b));
    }
  }

  /// What all links of a kind have in common.
  using LinkClass = std::tuple<NodeKind, NodeKind, bool, std::string>;

  [[nodiscard]] LinkClass classOf(NodeIndex a, NodeIndex b, const Bandwidth& bandwidth) const {
    const Node& tail = m_plan.nodes()[a];
    const Node& head = m_plan.nodes()[b];
    const auto [low, high] = std::minmax(tail.kind, head.kind);
    return {low, high, !tail.box.empty() && tail.box == head.box, toFraction(bandwidth)};
  }

  /// Where most links of a kind have one other rate, that is one difference: another generation, or other tables.
  void gatherAlike() {
    constexpr std::size_t kFew = 4;
    std::map<LinkClass, std::size_t> sizes;
    for (const Arc& arc : m_plan.arcs()) {
      const bool isBack = arc.head < arc.tail && between(m_plan, arc.head, arc.tail) == arc.bandwidth;
      if (!isBack && wiredOf(arc.tail) >= 0 && wiredOf(arc.head) >= 0) {
        ++sizes[classOf(arc.tail, arc.head, arc.bandwidth)];
      }
    }
    std::map<std::pair<LinkClass, std::string>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < m_result.differences.size(); ++i) {
      const Difference& difference = m_result.differences[i];
      if (difference.kind == DifferenceKind::lessBandwidth || difference.kind == DifferenceKind::moreBandwidth) {
        const auto a = m_plan.find(difference.planned[0]);
        const auto b = m_plan.find(difference.planned[1]);
        alike[{classOf(*a, *b, difference.plannedBandwidth), toFraction(difference.wiredBandwidth)}].push_back(i);
      }
    }
    std::set<std::size_t> gone;
    for (const auto& [key, members] : alike) {
      const std::size_t all = sizes[key.first];
      if (members.size() < kFew || 4 * members.size() < 3 * all) {
        continue;
      }
      Difference& first = m_result.differences[members.front()];
      const auto& [low, high, isInside, rate] = key.first;
      const Rational share = first.wiredBandwidth / first.plannedBandwidth;
      first.text =
          (members.size() == all ? "all " : std::to_string(members.size()) + " of ") + std::to_string(all) +
          " links between " + std::string(toString(low)) + " and " + std::string(toString(high)) +
          (isInside ? " inside hosts" : "") + " have " + toExactText(first.wiredBandwidth) + " GB/s, not the planned " +
          toExactText(first.plannedBandwidth) +
          (share == Rational(1, 2)   ? ": half the width, half the speed, or half of the cables"
           : share == Rational(1, 4) ? ": a quarter of the width or speed"
                                     : ": another generation, or another table of rates (NCCL's, the maker's)");
      for (std::size_t i = 1; i < members.size(); ++i) {
        const Difference& other = m_result.differences[members[i]];
        first.planned.insert(first.planned.end(), other.planned.begin(), other.planned.end());
        first.wired.insert(first.wired.end(), other.wired.begin(), other.wired.end());
        gone.insert(members[i]);
      }
    }
    std::vector<Difference> kept;
    for (std::size_t i = 0; i < m_result.differences.size(); ++i) {
      if (!gone.contains(i)) {
        kept.push_back(std::move(m_result.differences[i]));
      }
    }
    m_result.differences = std::move(kept);
  }

  void compareLink(const Arc& arc, NodeIndex a, NodeIndex b, std::map<NodeIndex, std::vector<NodeIndex>>& unplanned) {
    const Bandwidth found = std::min(between(m_wired, a, b), std::max(between(m_wired, b, a), between(m_wired, a, b)));
    if (found == arc.bandwidth) {
      return;
    }
    const std::string ends = inQuotes(wiredId(a)) + " and " + inQuotes(wiredId(b));
    const std::vector<std::string> planned{planId(arc.tail), planId(arc.head)};
    const std::vector<std::string> wired{wiredId(a), wiredId(b)};
    if (!found.isPositive()) {
      // The end inside a host, if one is.
      const bool isTailInside = !m_plan.nodes()[arc.tail].box.empty();
      const NodeIndex inside = isTailInside ? a : b;
      const auto moved = unplanned.find(inside);
      if (moved != unplanned.end() && !moved->second.empty()) {
        const NodeIndex other = moved->second.front();
        moved->second.erase(moved->second.begin());
        const NodeIndex target = planOf(other);
        add(DifferenceKind::otherSwitch,
            inQuotes(wiredId(inside)) + " is on " + inQuotes(wiredId(other)) + " in place of " +
                inQuotes(wiredId(isTailInside ? b : a)) + ": wrong rail or leaf",
            isTailInside ? planned : std::vector<std::string>{planned[1], planned[0]},
            {wiredId(inside), wiredId(other)}, arc.bandwidth, between(m_wired, inside, other),
            target < 0 ? std::string() : planId(target));
        return;
      }
      add(DifferenceKind::missingCable, "no link between " + ends + ": a port is down, or the cable is missing",
          planned, wired, arc.bandwidth);
      return;
    }
    if (found > arc.bandwidth) {
      add(DifferenceKind::moreBandwidth,
          ends + " are joined by " + toExactText(found) + " GB/s, more than the planned " + toExactText(arc.bandwidth),
          planned, wired, arc.bandwidth, found);
      return;
    }
    const Rational share = found / arc.bandwidth;
    const Node& tail = m_plan.nodes()[arc.tail];
    const Node& head = m_plan.nodes()[arc.head];
    const bool isGpuLink = (tail.kind == NodeKind::gpu || head.kind == NodeKind::gpu) && tail.kind != NodeKind::nic &&
                           head.kind != NodeKind::nic && tail.box == head.box;
    const std::string why = isGpuLink                 ? "fewer or slower links of the GPU"
                            : share == Rational(1, 2) ? "half the width, half the speed, or half of the cables"
                            : share == Rational(1, 4) ? "a quarter of the width or speed"
                                                      : "fewer cables, or less width or speed";
    add(DifferenceKind::lessBandwidth,
        ends + " are joined by " + toExactText(found) + " of " + toExactText(arc.bandwidth) + " GB/s: " + why, planned,
        wired, arc.bandwidth, found);
  }

  Fabric m_plan;
  Fabric m_wired;
  std::vector<NodeIndex> m_planOf;
  std::vector<std::vector<NodeIndex>> m_neighbours;
  FabricComparison m_result;
};

}  // namespace

std::string_view toString(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::missingHost:
      return "missing_host";
    case DifferenceKind::missingNode:
      return "missing_node";
    case DifferenceKind::missingCable:
      return "missing_cable";
    case DifferenceKind::otherSwitch:
      return "other_switch";
    case DifferenceKind::lessBandwidth:
      return "less_bandwidth";
    case DifferenceKind::moreBandwidth:
      return "more_bandwidth";
    case DifferenceKind::extraHost:
      return "extra_host";
    case DifferenceKind::extraCable:
      break;
  }
  return "extra_cable";
}

FabricComparison compareWired(const Fabric& plan, const Fabric& wired) {
  return WiredComparison(plan, wired).run();
}

namespace {

/// The plan without some of its nodes and their links; ranks close up.
Description without(const Fabric& plan, const std::set<NodeIndex>& gone) {
  Description description;
  description.name = plan.name();
  int rank = 0;
  std::map<NodeIndex, int> ranks;
  for (const NodeIndex gpu : plan.gpus()) {
    if (!gone.contains(gpu)) {
      ranks[gpu] = rank++;
    }
  }
  for (NodeIndex index = 0; index < plan.nodeCount(); ++index) {
    if (gone.contains(index)) {
      continue;
    }
    const Node& node = plan.nodes()[index];
    NodeDescription described;
    described.id = node.id;
    described.kind = std::string(toString(node.kind));
    described.box = node.box;
    if (const auto known = ranks.find(index); known != ranks.end()) {
      described.rank = known->second;
    }
    described.multicast = node.multicast;
    described.aggregation = node.aggregation;
    description.nodes.push_back(std::move(described));
  }
  return description;
}

}  // namespace

std::optional<Fabric> withoutNics(const Fabric& fabric) {
  std::vector<std::map<NodeIndex, Bandwidth>> out(static_cast<std::size_t>(fabric.nodeCount()));
  for (const Arc& arc : fabric.arcs()) {
    out[static_cast<std::size_t>(arc.tail)][arc.head] = arc.bandwidth;
  }
  const auto toward = [&](NodeIndex a, NodeIndex b) {
    const auto& from = out[static_cast<std::size_t>(a)];
    const auto found = from.find(b);
    return found == from.end() ? Bandwidth() : found->second;
  };
  std::set<NodeIndex> gone;
  std::vector<LinkDescription> folded;
  for (NodeIndex index = 0; index < fabric.nodeCount(); ++index) {
    const auto& ends = out[static_cast<std::size_t>(index)];
    if (fabric.nodes()[index].kind != NodeKind::nic || ends.size() != 2) {
      continue;
    }
    const NodeIndex a = ends.begin()->first;
    const NodeIndex b = std::next(ends.begin())->first;
    if (gone.contains(a) || gone.contains(b)) {
      continue;
    }
    gone.insert(index);
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      const Bandwidth bandwidth = std::min(toward(from, index), toward(index, to));
      if (bandwidth.isPositive()) {
        folded.push_back({fabric.nodes()[from].id, fabric.nodes()[to].id, toFraction(bandwidth), false, 1});
      }
    }
  }
  if (gone.empty()) {
    return std::nullopt;
  }
  Description description = without(fabric, gone);
  for (const Arc& arc : fabric.arcs()) {
    if (!gone.contains(arc.tail) && !gone.contains(arc.head)) {
      description.links.push_back(
          {fabric.nodes()[arc.tail].id, fabric.nodes()[arc.head].id, toFraction(arc.bandwidth), false, 1});
    }
  }
  description.links.insert(description.links.end(), folded.begin(), folded.end());
  auto built = Fabric::build(description);
  return built ? std::optional(*std::move(built)) : std::nullopt;
}

std::optional<Description> withDifference(const Fabric& plan, const Difference& difference) {
  const bool isOfLink = difference.kind == DifferenceKind::missingCable ||
                        difference.kind == DifferenceKind::otherSwitch ||
                        difference.kind == DifferenceKind::lessBandwidth;
  const bool isOfNodes =
      difference.kind == DifferenceKind::missingHost || difference.kind == DifferenceKind::missingNode;
  const bool isOfLinks = difference.kind == DifferenceKind::lessBandwidth && difference.planned.size() % 2 == 0 &&
                         !difference.planned.empty();
  if ((!isOfLink || (difference.planned.size() != 2 && !isOfLinks)) && (!isOfNodes || difference.planned.size() != 1)) {
    return std::nullopt;
  }
  std::set<std::pair<std::string, std::string>> links;
  for (std::size_t i = 0; isOfLink && i + 1 < difference.planned.size(); i += 2) {
    links.insert({difference.planned[i], difference.planned[i + 1]});
  }
  std::set<NodeIndex> gone;
  for (NodeIndex index = 0; isOfNodes && index < plan.nodeCount(); ++index) {
    const Node& node = plan.nodes()[index];
    const std::string& name = difference.planned[0];
    if (difference.kind == DifferenceKind::missingNode ? node.id == name
                                                       : node.box == name || node.box.starts_with(name + "/")) {
      gone.insert(index);
    }
  }
  Description description = without(plan, gone);
  const auto isIt = [&](const std::string& a, const std::string& b) {
    return links.contains({a, b}) || links.contains({b, a});
  };
  for (const Arc& arc : plan.arcs()) {
    if (gone.contains(arc.tail) || gone.contains(arc.head)) {
      continue;
    }
    const std::string& tail = plan.nodes()[arc.tail].id;
    const std::string& head = plan.nodes()[arc.head].id;
    Bandwidth bandwidth = arc.bandwidth;
    if (isIt(tail, head)) {
      if (difference.kind != DifferenceKind::lessBandwidth) {
        continue;
      }
      bandwidth = std::min(bandwidth, difference.wiredBandwidth);
    }
    description.links.push_back({tail, head, toFraction(bandwidth), false, 1});
  }
  if (difference.kind == DifferenceKind::otherSwitch && !difference.movedTo.empty()) {
    description.links.push_back(
        {difference.planned[0], difference.movedTo, toFraction(difference.wiredBandwidth), true, 1});
  }
  return description;
}

}  // namespace coppice::fabric
