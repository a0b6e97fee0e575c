// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level_slices.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"

namespace coppice::forestcoll {

using std::int64_t;

std::vector<TwoLevelSlice> twoLevelSlices(const TwoLevelShape& shape, const std::vector<int64_t>& supply) {
  const int64_t k = supply.front();
  if (k < 2 || std::any_of(supply.begin(), supply.end(), [&](int64_t trees) { return trees != k; })) {
    return {};
  }
  const Int128 others = Int128{k} * (static_cast<int64_t>(supply.size()) - 1);
  std::set<int64_t> borders{0, k};
  for (std::size_t rank = 0; rank < supply.size(); ++rank) {
    if (Int128{shape.innerIn[rank]} + shape.outerIn[rank] == others) {
      borders.insert(shape.outerIn[rank] % k);
    }
  }
  if (2 * (borders.size() - 1) > static_cast<std::size_t>(k)) {
    return {};
  }
  std::vector<TwoLevelSlice> slices;
  for (auto border = borders.begin(); *border != k;) {
    const int64_t first = *border++;
    const int64_t last = *border;
    TwoLevelSlice& slice =
        slices.emplace_back(TwoLevelSlice{last - first, std::vector<int64_t>(supply.size(), 1), shape});
    for (std::vector<int64_t>* side : {&slice.shape.outerOut, &slice.shape.outerIn}) {
      for (int64_t& capacity : *side) {
        capacity = capacity / k + (last <= capacity % k ? 1 : 0);
      }
    }
    for (std::vector<int64_t>* side : {&slice.shape.innerOut, &slice.shape.innerIn}) {
      for (int64_t& capacity : *side) {
        capacity = capacity / k + (first >= k - capacity % k ? 1 : 0);
      }
    }
  }
  return slices;
}

}  // namespace coppice::forestcoll
