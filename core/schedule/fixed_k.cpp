// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixed_k.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace coppice::schedule {
namespace {

void multiply(Forest& forest, std::int64_t factor) {
  for (std::int64_t& trees : forest.treesOfRoot) {
    trees = checkedMul(trees, factor);
  }
  for (Tree& tree : forest.trees) {
    tree.multiplicity = checkedMul(tree.multiplicity, factor);
  }
  forest.scale = forest.scale * Rational(factor);
}

}  // namespace

void stateFixedK(Schedule& schedule) {
  const auto& amounts = schedule.amounts;
  const auto first = std::ranges::find_if(amounts, [](std::int64_t amount) { return amount > 0; });
  const bool isEqual = amounts.empty();
  const auto root = isEqual ? schedule.root.value_or(0) : static_cast<fabric::Rank>(first - amounts.begin());
  const std::int64_t demand = isEqual ? 1 : *first;
  std::int64_t common = 1;
  for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      common = leastCommonMultiple(common, (*forest)->treesOfRoot[root] / demand);
    }
  }
  for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      multiply(**forest, common / ((*forest)->treesOfRoot[root] / demand));
    }
  }
  schedule.fixedK = common;
}

}  // namespace coppice::schedule
