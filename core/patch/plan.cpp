// SPDX-License-Identifier: Apache-2.0
#include "patch/plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace coppice::patch {
namespace {

using std::int64_t;
using std::size_t;
using Link = std::pair<int, int>;

Link normal(Link link, CableKind kind) {
  if (kind == CableKind::duplex && link.first > link.second) {
    std::swap(link.first, link.second);
  }
  return link;
}

/// How many cables each pair of nodes has, as sorted rows.
class LinkCounts {
public:
  LinkCounts(int nodes, const std::vector<Link>& links) : m_rows(static_cast<size_t>(nodes)) {
    for (const auto& [a, b] : links) {
      ++m_rows[static_cast<size_t>(a)][b];
    }
  }
  [[nodiscard]] int of(Link link) const {
    const auto& row = m_rows[static_cast<size_t>(link.first)];
    const auto it = row.find(link.second);
    return it == row.end() ? 0 : it->second;
  }

private:
  std::vector<std::map<int, int>> m_rows;
};

/// Exchanges roles of two nodes while that keeps more cables.
class Labelling {
public:
  Labelling(const Wiring& before, const Links& wanted)
      : m_nodes(before.nodeCount()),
        m_kind(wanted.kind),
        m_before(m_nodes, linksOf(before)),
        m_touching(static_cast<size_t>(m_nodes)) {
    m_roles.resize(static_cast<size_t>(m_nodes));
    std::iota(m_roles.begin(), m_roles.end(), 0);
    m_nodeOf = m_roles;
    std::map<Link, int> counts;
    for (const Link& link : wanted.ends) {
      ++counts[normal(link, m_kind)];
    }
    for (const auto& [link, count] : counts) {
      m_wanted.push_back({link, count});
      m_touching[static_cast<size_t>(link.first)].push_back(m_wanted.size() - 1);
      if (link.second != link.first) {
        m_touching[static_cast<size_t>(link.second)].push_back(m_wanted.size() - 1);
      }
    }
  }

  void improve(const Progress& progress) {
    constexpr int kRounds = 20;
    for (int round = 0; round < kRounds; ++round) {
      bool isBetter = false;
      for (int a = 0; a < m_nodes; ++a) {
        throwIfCancelled(progress);
        progress.report("labels", (round + static_cast<double>(a) / m_nodes) / kRounds);
        for (int b = a + 1; b < m_nodes; ++b) {
          isBetter = exchangeIfBetter(a, b) || isBetter;
        }
      }
      if (!isBetter) {
        return;
      }
    }
  }

  [[nodiscard]] const std::vector<int>& roles() const { return m_roles; }

private:
  /// Cables kept by the wanted links that touch the roles of a or b.
  [[nodiscard]] int64_t keptAround(int roleA, int roleB) const {
    int64_t kept = 0;
    const auto add = [&](size_t index, bool countsBoth) {
      const auto& [link, count] = m_wanted[index];
      const bool touchesA = link.first == roleA || link.second == roleA;
      if (countsBoth || !touchesA) {
        const Link placed =
            normal({m_nodeOf[static_cast<size_t>(link.first)], m_nodeOf[static_cast<size_t>(link.second)]}, m_kind);
        kept += std::min(count, m_before.of(placed));
      }
    };
    for (const size_t index : m_touching[static_cast<size_t>(roleA)]) {
      add(index, true);
    }
    for (const size_t index : m_touching[static_cast<size_t>(roleB)]) {
      add(index, false);
    }
    return kept;
  }

  bool exchangeIfBetter(int a, int b) {
    const int roleA = m_roles[static_cast<size_t>(a)];
    const int roleB = m_roles[static_cast<size_t>(b)];
    const int64_t old = keptAround(roleA, roleB);
    std::swap(m_nodeOf[static_cast<size_t>(roleA)], m_nodeOf[static_cast<size_t>(roleB)]);
    if (keptAround(roleA, roleB) > old) {
      std::swap(m_roles[static_cast<size_t>(a)], m_roles[static_cast<size_t>(b)]);
      return true;
    }
    std::swap(m_nodeOf[static_cast<size_t>(roleA)], m_nodeOf[static_cast<size_t>(roleB)]);
    return false;
  }

  int m_nodes;
  CableKind m_kind;
  LinkCounts m_before;
  std::vector<std::pair<Link, int>> m_wanted;
  std::vector<std::vector<size_t>> m_touching;  ///< by role, into m_wanted
  std::vector<int> m_roles;
  std::vector<int> m_nodeOf;
};

/// Ports that nothing is plugged into, in ascending order; simplex ports are free for each direction separately.
class FreePorts {
public:
  FreePorts(CableKind kind, int nodes, int ports) : m_kind(kind), m_isTaken(2) {
    for (auto& side : m_isTaken) {
      side.assign(static_cast<size_t>(nodes), std::vector<char>(static_cast<size_t>(ports), 0));
    }
  }

  void take(const Plug& plug, bool isFrom) { at(plug, isFrom) = 1; }
  int takeFree(int node, bool isFrom) {
    auto& row = m_isTaken[side(isFrom)][static_cast<size_t>(node)];
    const auto it = std::find(row.begin(), row.end(), 0);
    *it = 1;
    return static_cast<int>(it - row.begin());
  }

private:
  [[nodiscard]] size_t side(bool isFrom) const { return m_kind == CableKind::simplex && !isFrom ? 1 : 0; }
  char& at(const Plug& plug, bool isFrom) {
    return m_isTaken[side(isFrom)][static_cast<size_t>(plug.node)][static_cast<size_t>(plug.port)];
  }

  CableKind m_kind;
  std::vector<std::vector<std::vector<char>>> m_isTaken;
};

/// Most ports that a node needs.
int portsFor(const Links& wanted, const std::vector<Link>& placed) {
  std::vector<int> out(wanted.ids.size(), 0);
  std::vector<int> in(wanted.ids.size(), 0);
  auto& second = wanted.kind == CableKind::simplex ? in : out;
  int max = 0;
  for (const auto& [a, b] : placed) {
    const int portsA = ++out[static_cast<size_t>(a)];
    const int portsB = ++second[static_cast<size_t>(b)];
    max = std::max({max, portsA, portsB});
  }
  return max;
}

/// Gives each link that is to be added a cable that is to go: one that shares an end where there is one.
class Pairing {
public:
  Pairing(std::vector<Cable> gone, std::vector<Link> missing, CableKind kind)
      : m_gone(std::move(gone)), m_missing(std::move(missing)), m_kind(kind), m_partner(m_missing.size(), kNone) {
    m_isUsed.assign(m_gone.size(), 0);
    pairBy([](const Link& link) { return link.first; }, [](const Cable& cable) { return cable.from.node; });
    pairBy([](const Link& link) { return link.second; }, [](const Cable& cable) { return cable.to.node; });
    if (m_kind == CableKind::duplex) {
      pairBy([](const Link& link) { return link.first; }, [](const Cable& cable) { return cable.to.node; });
      pairBy([](const Link& link) { return link.second; }, [](const Cable& cable) { return cable.from.node; });
    }
    size_t next = 0;
    for (size_t& partner : m_partner) {
      while (next < m_gone.size() && m_isUsed[next] != 0) {
        ++next;
      }
      if (partner == kNone && next < m_gone.size()) {
        partner = next;
        m_isUsed[next] = 1;
      }
    }
  }

  /// The new place of every cable; the ports of ends that stay are taken first.
  [[nodiscard]] std::vector<Move> moves(FreePorts& ports) const {
    std::vector<Move> result;
    for (size_t i = 0; i < m_missing.size(); ++i) {
      Move move;
      Cable after{{m_missing[i].first, -1}, {m_missing[i].second, -1}};
      if (m_partner[i] != kNone) {
        move.before = m_gone[m_partner[i]];
        keepEnds(*move.before, after);
      }
      move.after = after;
      result.push_back(move);
    }
    for (const Move& move : result) {
      if (move.after->from.port >= 0) {
        ports.take(move.after->from, true);
      }
      if (move.after->to.port >= 0) {
        ports.take(move.after->to, false);
      }
    }
    for (Move& move : result) {
      if (move.after->from.port < 0) {
        move.after->from.port = ports.takeFree(move.after->from.node, true);
      }
      if (move.after->to.port < 0) {
        move.after->to.port = ports.takeFree(move.after->to.node, false);
      }
    }
    for (size_t i = 0; i < m_gone.size(); ++i) {
      if (m_isUsed[i] == 0) {
        result.push_back({m_gone[i], {}});
      }
    }
    return result;
  }

private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  template <typename OfLink, typename OfCable>
  void pairBy(OfLink ofLink, OfCable ofCable) {
    std::map<int, std::vector<size_t>> byNode;
    for (size_t i = m_gone.size(); i-- > 0;) {
      if (m_isUsed[i] == 0) {
        byNode[ofCable(m_gone[i])].push_back(i);
      }
    }
    for (size_t i = 0; i < m_missing.size(); ++i) {
      if (m_partner[i] != kNone) {
        continue;
      }
      const auto it = byNode.find(ofLink(m_missing[i]));
      if (it != byNode.end() && !it->second.empty()) {
        m_partner[i] = it->second.back();
        m_isUsed[it->second.back()] = 1;
        it->second.pop_back();
      }
    }
  }

  /// An end at the same node keeps its port. A duplex cable may be turned round for that.
  void keepEnds(const Cable& before, Cable& after) const {
    const bool isTurned =
        m_kind == CableKind::duplex && before.from.node != after.from.node && before.to.node != after.to.node;
    if (isTurned) {
      std::swap(after.from, after.to);
    }
    if (before.from.node == after.from.node) {
      after.from = before.from;
    }
    if (before.to.node == after.to.node) {
      after.to = before.to;
    }
  }

  std::vector<Cable> m_gone;
  std::vector<Link> m_missing;
  CableKind m_kind;
  std::vector<size_t> m_partner;  ///< by missing link, into m_gone
  std::vector<char> m_isUsed;
};

Outcome checkSame(const Wiring& before, const Links& wanted) {
  if (before.kind != wanted.kind) {
    return Error{ErrorCode::badUsage, "one wiring has simplex cables and the other duplex ones",
                 "use the same kind for both"};
  }
  if (before.ids != wanted.ids) {
    const size_t at = static_cast<size_t>(
        std::mismatch(before.ids.begin(), before.ids.end(), wanted.ids.begin(), wanted.ids.end()).first -
        before.ids.begin());
    return Error{ErrorCode::badUsage,
                 before.ids.size() != wanted.ids.size()
                     ? "one wiring has " + std::to_string(before.ids.size()) + " GPUs, the other " +
                           std::to_string(wanted.ids.size())
                     : "the GPU of rank " + std::to_string(at) + " is " + before.ids[at] + " in one and " +
                           wanted.ids[at] + " in the other",
                 "use fabrics of the same GPUs in the same order"};
  }
  return Done{};
}

/// The cables that stay, and what is left of both sides.
struct Difference {
  std::vector<Cable> kept;
  std::vector<Cable> gone;
  std::vector<Link> missing;
};

Difference compare(const Wiring& before, const std::vector<Link>& placed) {
  std::map<Link, int> open;
  for (const Link& link : placed) {
    ++open[link];
  }
  Difference difference;
  for (const Cable& cable : before.cables) {
    int& count = open[normal({cable.from.node, cable.to.node}, before.kind)];
    (count > 0 ? difference.kept : difference.gone).push_back(cable);
    count -= count > 0 ? 1 : 0;
  }
  for (const auto& [link, count] : open) {
    difference.missing.insert(difference.missing.end(), static_cast<size_t>(count), link);
  }
  return difference;
}

}  // namespace

int Move::movedEnds() const {
  if (!before || !after) {
    return 0;
  }
  return (before->from == after->from ? 0 : 1) + (before->to == after->to ? 0 : 1);
}

int64_t Plan::moved() const {
  return std::count_if(moves.begin(), moves.end(), [](const Move& move) { return move.before && move.after; });
}

int64_t Plan::added() const {
  return std::count_if(moves.begin(), moves.end(), [](const Move& move) { return !move.before; });
}

int64_t Plan::removed() const {
  return std::count_if(moves.begin(), moves.end(), [](const Move& move) { return !move.after; });
}

Result<Plan> planMoves(const Wiring& before, const Links& wanted, const PlanOptions& options,
                       const Progress& progress) {
  if (const Outcome same = checkSame(before, wanted); !same) {
    return same.error();
  }
  try {
    Labelling labelling(before, wanted);
    if (options.mayRelabel) {
      labelling.improve(progress);
    }
    Plan plan;
    plan.roles = labelling.roles();
    std::vector<int> nodeOf(plan.roles.size());
    for (size_t v = 0; v < plan.roles.size(); ++v) {
      nodeOf[static_cast<size_t>(plan.roles[v])] = static_cast<int>(v);
    }
    std::vector<Link> placed;
    for (const auto& [a, b] : wanted.ends) {
      placed.push_back(normal({nodeOf[static_cast<size_t>(a)], nodeOf[static_cast<size_t>(b)]}, wanted.kind));
    }
    const Difference difference = compare(before, placed);
    plan.kept = static_cast<int64_t>(difference.kept.size());
    plan.after.kind = before.kind;
    plan.after.ids = before.ids;
    plan.after.ports = std::max(before.ports, portsFor(wanted, placed));
    FreePorts ports(before.kind, before.nodeCount(), plan.after.ports);
    for (const Cable& cable : difference.kept) {
      ports.take(cable.from, true);
      ports.take(cable.to, false);
    }
    plan.moves = Pairing(difference.gone, difference.missing, before.kind).moves(ports);
    plan.after.cables = difference.kept;
    for (const Move& move : plan.moves) {
      if (move.after) {
        plan.after.cables.push_back(*move.after);
      }
    }
    std::sort(plan.after.cables.begin(), plan.after.cables.end());
    return plan;
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
}

std::string replay(const Wiring& before, const Plan& plan, const Links& wanted) {
  // What every port holds: [0] transmitters or duplex ports, [1] receivers.
  std::array<std::set<Plug>, 2> taken;
  std::multiset<Cable> cables;
  const auto sideOf = [&](bool isFrom) -> std::set<Plug>& {
    return taken[before.kind == CableKind::simplex && !isFrom ? 1 : 0];
  };
  for (const Cable& cable : before.cables) {
    sideOf(true).insert(cable.from);
    sideOf(false).insert(cable.to);
    cables.insert(cable);
  }
  const auto name = [&](const Plug& plug) {
    return "port " + std::to_string(plug.port + 1) + " of " + before.ids[static_cast<size_t>(plug.node)];
  };
  for (const Move& move : plan.moves) {
    if (!move.before) {
      continue;
    }
    const auto at = cables.find(*move.before);
    if (at == cables.end()) {
      return "no cable joins " + name(move.before->from) + " and " + name(move.before->to);
    }
    cables.erase(at);
    if (!move.after || !(move.after->from == move.before->from)) {
      sideOf(true).erase(move.before->from);
    }
    if (!move.after || !(move.after->to == move.before->to)) {
      sideOf(false).erase(move.before->to);
    }
  }
  for (const Move& move : plan.moves) {
    if (!move.after) {
      continue;
    }
    for (const bool isFrom : {true, false}) {
      const Plug& plug = isFrom ? move.after->from : move.after->to;
      const bool stays = move.before && (isFrom ? move.before->from : move.before->to) == plug;
      if (!stays && !sideOf(isFrom).insert(plug).second) {
        return name(plug) + " is taken when a cable is to be plugged in";
      }
    }
    cables.insert(*move.after);
  }
  std::multiset<Link> made;
  for (const Cable& cable : cables) {
    made.insert(
        normal({plan.roles[static_cast<size_t>(cable.from.node)], plan.roles[static_cast<size_t>(cable.to.node)]},
               before.kind));
  }
  std::multiset<Link> expected;
  for (const Link& link : wanted.ends) {
    expected.insert(normal(link, before.kind));
  }
  return made == expected ? std::string() : "after the plan the links are not those of the new fabric";
}

std::string toCsv(const Plan& plan) {
  std::string text = "action,cable,node,port\n";
  const auto add = [&](const char* action, size_t cable, const Plug& plug) {
    text += std::string(action) + "," + std::to_string(cable + 1) + "," +
            plan.after.ids[static_cast<size_t>(plug.node)] + "," + std::to_string(plug.port + 1) + "\n";
  };
  for (const bool isPull : {true, false}) {
    for (size_t i = 0; i < plan.moves.size(); ++i) {
      const Move& move = plan.moves[i];
      const auto& cable = isPull ? move.before : move.after;
      const auto& other = isPull ? move.after : move.before;
      if (!cable) {
        continue;
      }
      if (!other || !(other->from == cable->from)) {
        add(isPull ? "disconnect" : "connect", i, cable->from);
      }
      if (!other || !(other->to == cable->to)) {
        add(isPull ? "disconnect" : "connect", i, cable->to);
      }
    }
  }
  return text;
}

}  // namespace coppice::patch
