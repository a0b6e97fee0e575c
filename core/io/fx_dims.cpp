// SPDX-License-Identifier: Apache-2.0
#include "io/fx_dims.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coppice::io::fx {

Atoms flat(const std::vector<Atoms>& positions) {
  Atoms all;
  for (const Atoms& position : positions) {
    all.insert(all.end(), position.begin(), position.end());
  }
  return all;
}

Atom Dims::add(std::int64_t size) {
  m_atoms.push_back({size});
  return static_cast<Atom>(m_atoms.size()) - 1;
}

Atoms Dims::leaves(const Atoms& atoms) const {
  Atoms leaves;
  Atoms due(atoms.rbegin(), atoms.rend());
  while (!due.empty()) {
    const Atom atom = due.back();
    due.pop_back();
    const Atoms& parts = m_atoms[atom].parts;
    if (parts.empty()) {
      leaves.push_back(atom);
    }
    due.insert(due.end(), parts.rbegin(), parts.rend());
  }
  return leaves;
}

void Dims::cut(Atom leaf, std::int64_t slower) {
  const Atom first = add(slower);
  const Atom second = add(m_atoms[leaf].size / slower);
  m_atoms[leaf].parts = {first, second};
  m_atoms[first].tensors = m_atoms[leaf].tensors;
  m_atoms[second].tensors = std::exchange(m_atoms[leaf].tensors, {});
}

bool Dims::unite(Atom a, Atom b) {
  // The one in fewer tensors becomes the other; of equals the later one, so that names stay.
  const bool isFirst = m_atoms[a].tensors.size() > m_atoms[b].tensors.size() ||
                       (m_atoms[a].tensors.size() == m_atoms[b].tensors.size() && a < b);
  Entry& kept = m_atoms[isFirst ? a : b];
  Entry& gone = m_atoms[isFirst ? b : a];
  if (std::any_of(gone.tensors.begin(), gone.tensors.end(),
                  [&](int tensor) { return kept.tensors.contains(tensor); })) {
    return false;
  }
  kept.tensors.merge(gone.tensors);
  gone.tensors.clear();
  gone.parts = {isFirst ? a : b};
  return true;
}

void Dims::addTensor(const Atoms& leaves) {
  for (const Atom leaf : leaves) {
    m_atoms[leaf].tensors.insert(m_tensors);
  }
  ++m_tensors;
}

}  // namespace coppice::io::fx
