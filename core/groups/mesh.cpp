// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "groups/groups.hpp"

namespace coppice::groups {

using schedule::ConcurrentGroup;
using std::int64_t;

Result<std::vector<int>> parseMesh(const std::string& text) {
  std::vector<int> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const int size = numberIn<int>(std::string_view(text).substr(begin, end - begin)).value_or(0);
    if (size < 1) {
      return Error{ErrorCode::badUsage, inQuotes(text) + " is not a mesh", "write the sizes of its axes, such as 8x16"};
    }
    sizes.push_back(size);
    begin = end + 1;
  }
  return sizes;
}

Result<std::vector<ConcurrentGroup>> meshGroups(std::span<const int> sizes, int axis, int ranks,
                                                Collective collective) {
  int64_t product = 1;
  for (const int size : sizes) {
    product = size < 1 || product > ranks ? 0 : product * size;
  }
  if (product != ranks) {
    return Error{ErrorCode::badUsage,
                 "the sizes of the mesh multiply to " + std::to_string(product) + ", not to the " +
                     std::to_string(ranks) + " GPUs of the fabric",
                 "give sizes whose product is " + std::to_string(ranks)};
  }
  if (axis < 0 || axis >= static_cast<int>(sizes.size())) {
    return Error{ErrorCode::badUsage, "the mesh has no axis " + std::to_string(axis),
                 "count its axes from 0, to " + std::to_string(sizes.size() - 1)};
  }
  if (sizes[axis] < 2) {
    return Error{ErrorCode::badUsage, "axis " + std::to_string(axis) + " of the mesh has size 1, and no groups",
                 "choose an axis of size 2 or more"};
  }
  const int64_t stride = std::accumulate(sizes.begin() + axis + 1, sizes.end(), int64_t{1}, std::multiplies<>());
  return axisGroups(sizes[axis], stride, ranks, collective);
}

std::vector<ConcurrentGroup> axisGroups(int64_t size, int64_t stride, int ranks, Collective collective) {
  std::vector<ConcurrentGroup> groups;
  for (int64_t first = 0; first < ranks; ++first) {
    if (first / stride % size == 0) {
      ConcurrentGroup& group = groups.emplace_back();
      group.collective = collective;
      for (int64_t i = 0; i < size; ++i) {
        group.ranks.push_back(static_cast<fabric::Rank>(first + i * stride));
      }
    }
  }
  return groups;
}

}  // namespace coppice::groups
