// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::fabric {

/// The boxes of a fabric, numbered in ascending order of their paths, and which of them are around each node.
class BoxTree {
public:
  /// @param boxOfNode by node: path of the innermost box, empty = none
  explicit BoxTree(std::span<const std::string_view> boxOfNode);

  [[nodiscard]] int nodeCount() const { return static_cast<int>(m_chainOf.size()); }
  [[nodiscard]] int boxCount() const { return static_cast<int>(m_paths.size()); }
  [[nodiscard]] const std::string& path(int box) const { return m_paths[box]; }
  /// Outermost first.
  [[nodiscard]] std::span<const int> around(int node) const { return m_chains[m_chainOf[node]]; }

private:
  std::vector<std::string> m_paths;
  std::vector<std::vector<int>> m_chains;  ///< by innermost box, in the order of the nodes
  std::vector<int> m_chainOf;              ///< by node
};

}  // namespace coppice::fabric
