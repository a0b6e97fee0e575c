// SPDX-License-Identifier: Apache-2.0
#include "topology/cayley.hpp"

#include <algorithm>
#include <set>

namespace coppice::topology {
namespace {

using std::size_t;

std::string text(Element x) {
  return "(" + std::to_string(x.a) + "," + std::to_string(x.b) + ")";
}

std::string text(const Metacyclic& group) {
  return "M(" + std::to_string(group.m) + "," + std::to_string(group.n) + "," + std::to_string(group.r) + ")";
}

Outcome checkGroup(const Metacyclic& group) {
  if (group.m < 1 || group.n < 1 || group.r < 0) {
    return Error{ErrorCode::badUsage, text(group) + " is not a group", "give m and n of 1 or more and r of 0 or more"};
  }
  if (Outcome sized = checkSize(text(group), std::int64_t{group.m} * group.n, 1); !sized) {
    return sized;
  }
  if (powerMod(group.r, group.n, group.m) != 1 % group.m) {
    return Error{ErrorCode::badUsage,
                 text(group) + " is not a group: " + std::to_string(group.r) + "^" + std::to_string(group.n) + " = " +
                     std::to_string(powerMod(group.r, group.n, group.m)) + " mod " + std::to_string(group.m) +
                     ", not 1",
                 "choose r with r^n = 1 mod m, such as 1 or, for even n, m-1"};
  }
  return Done{};
}

Outcome checkGenerators(const Metacyclic& group, std::span<const Element> generators) {
  if (generators.empty()) {
    return Error{ErrorCode::badUsage, "no generator is given", "give one or more elements of " + text(group)};
  }
  std::set<Element> seen;
  for (const Element& s : generators) {
    if (s.a < 0 || s.a >= group.m || s.b < 0 || s.b >= group.n) {
      return Error{ErrorCode::badUsage, text(s) + " is not an element of " + text(group),
                   "give pairs (a,b) with 0 <= a < m and 0 <= b < n"};
    }
    if (s == Element{}) {
      return Error{ErrorCode::badUsage,
                   "the generators hold the identity (0,0), which would be a link of a node to "
                   "itself",
                   "leave it out"};
    }
    if (!seen.insert(s).second) {
      return Error{ErrorCode::badUsage, "the generator " + text(s) + " is given twice", "give every generator once"};
    }
  }
  return Done{};
}

}  // namespace

int powerMod(std::int64_t base, std::int64_t exponent, std::int64_t modulus) {
  std::int64_t result = 1 % modulus;
  for (base %= modulus; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) {
      result = result * base % modulus;
    }
    base = base * base % modulus;
  }
  return static_cast<int>(result);
}

GroupTable::GroupTable(const Metacyclic& group) : m_group(group) {
  m_powers.reserve(static_cast<size_t>(group.n));
  std::int64_t power = 1 % group.m;
  for (int b = 0; b < group.n; ++b) {
    m_powers.push_back(static_cast<int>(power));
    power = power * group.r % group.m;
  }
}

Element GroupTable::product(Element x, Element y) const {
  return {static_cast<int>((x.a + std::int64_t{power(x.b)} * y.a) % m_group.m), (x.b + y.b) % m_group.n};
}

Element GroupTable::inverse(Element x) const {
  const int b = (m_group.n - x.b) % m_group.n;
  const auto a = static_cast<int>(std::int64_t{power(b)} * x.a % m_group.m);
  return {(m_group.m - a) % m_group.m, b};
}

std::string nameOf(const Metacyclic& group, std::span<const Element> generators) {
  std::string list;
  for (const Element& s : generators) {
    list += (list.empty() ? "" : ",") + (group.n == 1 ? std::to_string(s.a) : text(s));
  }
  return (group.n == 1 ? "Z_" + std::to_string(group.m) : text(group)) + "{" + list + "}";
}

Result<Digraph> cayley(const Metacyclic& group, std::span<const Element> generators) {
  for (const Outcome& checked : {checkGroup(group), checkGenerators(group, generators)}) {
    if (!checked) {
      return checked.error();
    }
  }
  Digraph graph;
  graph.name = nameOf(group, generators);
  graph.nodes = group.order();
  graph.degree = static_cast<int>(generators.size());
  if (Outcome sized = checkSize(graph.name, graph.nodes, graph.degree); !sized) {
    return sized.error();
  }
  const GroupTable table(group);
  graph.heads.reserve(static_cast<size_t>(graph.nodes) * generators.size());
  for (int x = 0; x < graph.nodes; ++x) {
    const Element from = table.element(x);
    for (const Element& s : generators) {
      graph.heads.push_back(table.number(table.product(from, s)));
    }
  }
  if (unreachablePair(graph)) {
    std::vector<char> isReached(static_cast<size_t>(graph.nodes), 0);
    std::vector<int> queue{0};
    isReached[0] = 1;
    for (size_t at = 0; at < queue.size(); ++at) {
      for (const int next : graph.out(queue[at])) {
        if (isReached[static_cast<size_t>(next)] == 0) {
          isReached[static_cast<size_t>(next)] = 1;
          queue.push_back(next);
        }
      }
    }
    return Error{ErrorCode::infeasible,
                 graph.name + ": the generators reach " + std::to_string(queue.size()) + " of the " +
                     std::to_string(graph.nodes) + " elements",
                 "add a generator outside that subgroup"};
  }
  return graph;
}

}  // namespace coppice::topology
