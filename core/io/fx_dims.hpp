// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

/// Dimensions of tensors that are told to be the same, and cut into smaller ones, while a graph is read.
namespace coppice::io::fx {

/// A dimension; what became of it is in its leaves.
using Atom = int;
using Atoms = std::vector<Atom>;

/// Of several positions, in order.
[[nodiscard]] Atoms flat(const std::vector<Atoms>& positions);

class Dims {
public:
  Atom add(std::int64_t size);
  [[nodiscard]] std::int64_t size(Atom atom) const { return m_atoms[atom].size; }
  /// What the atoms are now, the slowest first: none of these is cut or the same as another one.
  [[nodiscard]] Atoms leaves(const Atoms& atoms) const;

  /// Cuts a leaf into two, the first the slower one. @pre slower divides its size, and is neither 1 nor all of it
  void cut(Atom leaf, std::int64_t slower);
  /// Tells that two leaves of one size are the same; false, and nothing is done, where a tensor has both.
  [[nodiscard]] bool unite(Atom a, Atom b);
  /// Notes that a tensor has these dimensions, all different.
  void addTensor(const Atoms& leaves);

private:
  struct Entry {
    std::int64_t size = 1;
    Atoms parts = {};            ///< one: it is that; several: it was cut into them
    std::set<int> tensors = {};  ///< of a leaf
  };
  std::vector<Entry> m_atoms;
  int m_tensors = 0;
};

}  // namespace coppice::io::fx
