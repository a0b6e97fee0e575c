// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "finder/finder.hpp"
#include "finder/sampler.hpp"

namespace coppice::finder {

/// Finder with all base graphs and exact values. Symmetric topologies (base graphs, Cayley digraphs, their degree
/// expansions and products) are evaluated at one target, line graphs from the target of their base graph, generalized
/// Kautz graphs from the catalogue or at all targets.
class Finder::Search {
public:
  std::vector<Entry> front(const Query& query, const Progress& progress, std::vector<std::string>* notes);

private:
  /// Whether one looks for Cayley digraphs that the catalogue does not have: for the topology itself and the base of
  /// its line graphs, not for factors of products.
  enum class Effort { part, whole };
  using Key = std::tuple<int, int, bool, Effort>;

  /// Simple topologies with the same loads at every node; a Pareto front.
  const std::vector<Entry>& symmetric(int nodes, int degree, bool isDuplex, Effort effort, const Progress& progress);
  /// The same before all but the front is left out.
  std::vector<Entry> gathered(int nodes, int degree, bool isDuplex, Effort effort, const Progress& progress);
  /// Nothing that the entry may add is worth its evaluation. With the all-to-all as a goal, all entries are.
  [[nodiscard]] bool isDominated(const std::vector<Entry>& entries, int steps, const Rational& time) const;
  /// Their mean distances, as far as these are quick; without the entries that have none.
  void addDistances(std::vector<Entry>& entries, const Progress& progress, std::vector<std::string>* notes) const;
  /// The one of them with the fewest steps among the bandwidth-optimal; nullptr = none.
  const Entry* bestOptimal(int nodes, int degree, bool isDuplex, const Progress& progress);

  void addBases(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries);
  void addDraws(int nodes, int degree, bool isDuplex, Effort effort, std::vector<Entry>& entries,
                const Progress& progress);
  void takeDraw(const CayleyDraw& draw, bool isDuplex, std::vector<Entry>& entries, std::vector<Entry>& equals);
  void addDegreeExpansions(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries, const Progress& progress);
  void addProducts(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries, const Progress& progress);
  void addParallelRings(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries);
  void addLineGraphs(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress);
  void addKautz(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress,
                std::vector<std::string>* notes);
  void addBothDirections(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress);

  std::map<Key, std::vector<Entry>> m_symmetric;
  /// Cayley digraphs that are equal to one of the front; their line graphs need not be.
  std::map<Key, std::vector<Entry>> m_equals;
  CayleySearch m_cayley;
  bool m_hasAlltoall = false;  ///< the entries that are gathered now are for a front of three goals
};

}  // namespace coppice::finder
