// SPDX-License-Identifier: Apache-2.0
#include "taccl/bound.hpp"

#include "taccl/bounds/bound_search.hpp"

namespace coppice::taccl {

Bound lowerBound(const Problem& problem, const Progress& progress) {
  return BoundSearch(problem, progress).find();
}

Ticks lowerBoundWithin(const Problem& problem, const std::vector<char>& linkOrbits) {
  return BoundSearch(problem, {}).findWithin(linkOrbits);
}

}  // namespace coppice::taccl
