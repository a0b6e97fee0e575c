// SPDX-License-Identifier: Apache-2.0
#include "lowering/planes.hpp"

#include <map>
#include <string>

namespace coppice::lowering {

Planes::Planes(const fabric::Fabric& fabric) : m_ordinal(static_cast<std::size_t>(fabric.nodeCount()), -1) {
  std::map<std::string, std::vector<int>> nicsOfBox;
  std::vector<int> loose;
  for (int n = 0; n < fabric.nodeCount(); ++n) {
    const fabric::Node& node = fabric.nodes()[n];
    if (node.kind == fabric::NodeKind::nic) {
      nicsOfBox[node.box].push_back(n);
    } else if (node.kind == fabric::NodeKind::switchNode && node.box.empty()) {
      loose.push_back(n);
    }
    m_isNic.push_back(node.kind == fabric::NodeKind::nic);
  }
  const auto number = [&](const std::vector<int>& nodes) {
    for (std::size_t i = 0; nodes.size() > 1 && i < nodes.size(); ++i) {
      m_ordinal[nodes[i]] = static_cast<int>(i);
    }
  };
  for (const auto& [box, nodes] : nicsOfBox) {
    number(nodes);
  }
  number(loose);
}

Parity Planes::of(std::span<const fabric::NodeIndex> route) const {
  for (const bool wantNic : {true, false}) {
    for (const fabric::NodeIndex n : route) {
      if (m_isNic[n] == wantNic && m_ordinal[n] >= 0) {
        return m_ordinal[n] % 2 == 0 ? Parity::even : Parity::odd;
      }
    }
  }
  return Parity::any;
}

}  // namespace coppice::lowering
