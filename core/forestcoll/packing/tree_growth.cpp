// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/tree_growth.hpp"

#include <numeric>
#include <vector>

#include "forestcoll/packing/parent_exchange.hpp"

namespace coppice::forestcoll {

namespace {

/// Trees that may get a parent at the open node, those with little choice first.
void listWaiting(const TreeTable& table, const ParentExchange& exchange, int node, std::vector<int>& waiting) {
  std::vector<int> byChoices(table.arcsInto(node).size() + 2, 0);
  for (int tree = 0; tree < table.treeCount(); ++tree) {
    if (table.isMissing(node, tree)) {
      ++byChoices[static_cast<std::size_t>(exchange.choices(tree)) + 1];
    }
  }
  const int hopeless = byChoices[1];
  std::partial_sum(byChoices.begin(), byChoices.end(), byChoices.begin());
  waiting.resize(byChoices.back());
  for (int tree = 0; tree < table.treeCount(); ++tree) {
    if (table.isMissing(node, tree)) {
      waiting[byChoices[exchange.choices(tree)]++] = tree;
    }
  }
  waiting.erase(waiting.begin(), waiting.begin() + hopeless);
}

}  // namespace

bool growTrees(TreeTable& table, const GrowthLimits& limits, const Progress& progress) {
  ParentExchange exchange(table);
  const std::int64_t before = table.work();
  const auto work = [&] { return table.work() - before + exchange.work(); };
  std::int64_t spent = 0;
  std::vector<TreeTable::Small> heights;
  std::vector<int> waiting;
  for (int height = 1; height <= limits.maxHeight && table.missingCount() > 0; ++height) {
    bool hasGrown = false;
    for (int node = 0; node < table.nodeCount(); ++node) {
      throwIfCancelled(progress);
      progress.spend(static_cast<std::uint64_t>(work() - spent));
      spent = work();
      if (table.missing(node) == 0) {
        continue;
      }
      heights.assign(table.treeCount(), static_cast<TreeTable::Small>(height));
      exchange.open(node, heights);
      listWaiting(table, exchange, node, waiting);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (work() > limits.work) {
          return false;
        }
        const int trees = table.treeCount();
        hasGrown |= exchange.place({.tree = waiting[i], .mayCut = trees < limits.maxTrees});
        for (int tree = trees; tree < table.treeCount(); ++tree) {
          if (table.isMissing(node, tree)) {
            waiting.push_back(tree);
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
