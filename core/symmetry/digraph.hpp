// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

namespace coppice::symmetry {

struct ColouredArc {
  int tail = 0;
  int head = 0;
  int colour = 0;
};

/// What symmetries keep: colours of nodes, and arcs with their colours. Parallel arcs and loops are allowed.
struct ColouredDigraph {
  std::vector<int> colourOf;  ///< by node
  std::vector<ColouredArc> arcs;

  [[nodiscard]] int nodeCount() const { return static_cast<int>(colourOf.size()); }
};

/// Numbers for facts, in the order in which they first come: colours.
template <typename Key>
class Numbering {
public:
  int operator()(Key key) {
    return m_numbers.try_emplace(std::move(key), static_cast<int>(m_numbers.size())).first->second;
  }

private:
  std::map<Key, int> m_numbers;
};

/// By node its image.
using Permutation = std::vector<int>;

}  // namespace coppice::symmetry
