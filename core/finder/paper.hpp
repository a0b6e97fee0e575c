// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "finder/finder.hpp"

namespace coppice::finder {

/// Finder with the base graphs of the dissertation (Tables A.2 and A.3) and its formulas (Theorems 7, 11, 12 and 13)
/// alone, for comparison. Diamond and the modified de Bruijn graphs are only drawn there; they have their stated
/// values, and drawn.hpp has what is built in their place.
class Finder::Paper {
public:
  std::vector<Entry> front(int nodes, int degree, const Progress& progress);

private:
  const std::vector<Entry>& known(int nodes, int degree, const Progress& progress);
  void addBases(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress);
  void addExpansions(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress);
  void addProducts(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress);

  std::map<std::pair<int, int>, std::vector<Entry>> m_known;
  /// By (nodes, degree): bandwidth-optimal by a simple BFB schedule, the fewest steps first.
  std::map<std::pair<int, int>, std::vector<Entry>> m_factors;
};

}  // namespace coppice::finder
