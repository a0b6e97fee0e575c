// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/tree_growth.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "forestcoll/parent_exchange.hpp"

namespace coppice::forestcoll {

bool growTrees(TreeTable& table, const GrowthLimits& limits, const Progress& progress) {
  ParentExchange exchange(table);
  const std::int64_t before = table.work();
  const auto work = [&] { return table.work() - before + exchange.work(); };
  std::vector<TreeTable::Small> heights;
  std::vector<std::pair<int, int>> waiting;
  for (int height = 1; height <= limits.mostHeight && table.missingCount() > 0; ++height) {
    bool hasGrown = false;
    for (int node = 0; node < table.nodeCount(); ++node) {
      throwIfCancelled(progress);
      if (table.missing(node) == 0) {
        continue;
      }
      heights.assign(static_cast<std::size_t>(table.treeCount()), static_cast<TreeTable::Small>(height));
      exchange.open(node, heights);
      // Trees with little choice first.
      waiting.clear();
      for (int tree = 0; tree < table.treeCount(); ++tree) {
        if (table.isMissing(node, tree) && exchange.choices(tree) > 0) {
          waiting.emplace_back(exchange.choices(tree), tree);
        }
      }
      std::sort(waiting.begin(), waiting.end());
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (work() > limits.work) {
          return false;
        }
        const int trees = table.treeCount();
        hasGrown |= exchange.place({.tree = waiting[i].second, .mayCut = trees < limits.mostTrees});
        for (int tree = trees; tree < table.treeCount(); ++tree) {
          if (table.isMissing(node, tree)) {
            waiting.emplace_back(waiting[i].first, tree);
          }
        }
      }
    }
    if (!hasGrown) {
      return false;
    }
  }
  return table.missingCount() == 0;
}

}  // namespace coppice::forestcoll
