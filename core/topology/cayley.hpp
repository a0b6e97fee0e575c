// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "topology/digraph.hpp"

namespace coppice::topology {

/// The metacyclic group M(m,n,r): pairs (a,b) with product (a,b)(c,e) = (a + r^b c mod m, b + e mod n), r^n = 1 mod m.
/// n = 1 (and r = 1): cyclic; r = 1: Z_m x Z_n; n = 2, r = m-1: dihedral. Element (a,b) has number a + m b.
struct Metacyclic {
  int m = 1;
  int n = 1;
  int r = 1;

  [[nodiscard]] int order() const { return m * n; }
  friend bool operator==(const Metacyclic&, const Metacyclic&) = default;
};

struct Element {
  int a = 0;
  int b = 0;
  friend auto operator<=>(const Element&, const Element&) = default;
};

/// Products and inverses of one group.
class GroupTable {
public:
  /// @pre m, n >= 1, r^n = 1 mod m
  explicit GroupTable(const Metacyclic& group);

  [[nodiscard]] const Metacyclic& group() const { return m_group; }
  [[nodiscard]] int number(Element x) const { return x.a + m_group.m * x.b; }
  [[nodiscard]] Element element(int number) const { return {number % m_group.m, number / m_group.m}; }
  [[nodiscard]] Element product(Element x, Element y) const;
  [[nodiscard]] Element inverse(Element x) const;
  /// r^b mod m
  [[nodiscard]] int power(int b) const { return m_powers[b]; }

private:
  Metacyclic m_group;
  std::vector<int> m_powers;
};

/// "C(16; 3, 4)" for cyclic groups, else "M(16,2,7){(7,1),(1,0)}".
[[nodiscard]] std::string nameOf(const Metacyclic& group, std::span<const Element> generators);

/// Arcs x -> x s for s in S; vertex-transitive, as left multiplication maps arcs to arcs.
/// Errors: badUsage for r^n != 1 mod m, numbers out of range, an empty S, repeats or the identity in S; infeasible
/// where S does not generate the group, with the nodes reached; limit.
[[nodiscard]] Result<Digraph> cayley(const Metacyclic& group, std::span<const Element> generators);

/// r^n mod m
[[nodiscard]] int powerMod(std::int64_t base, std::int64_t exponent, std::int64_t modulus);

}  // namespace coppice::topology
