// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "taccl/problem.hpp"
#include "taccl/routes.hpp"

namespace coppice::taccl {

/// All sets of link orbits with fewer connections than a known schedule, one after the other, the fewest first. Those
/// in which no schedule is as short are left out.
class FewLinks {
public:
  /// @param weights of link orbits, as Decoder::connectionWeight
  FewLinks(const Problem& problem, std::vector<int> weights);

  /// Lists the sets with fewer connections than that and returns how many. Does nothing and returns nullopt where there
  /// are too many to list. @param random orders those with equally many
  std::optional<std::size_t> list(int connections, Random& random);
  /// Looks at the next set; after the last one at the first again. nullopt where it is left out.
  std::optional<std::vector<char>> next(Ticks makespan, int connections);
  /// None is left: no schedule that is as short has fewer connections.
  [[nodiscard]] bool isEmpty() const { return m_isListed && m_sets.empty(); }

private:
  struct Set {
    int weight = 0;
    std::vector<int> orbits;
    bool isPossible = false;
  };
  bool extend(Set& set, std::size_t from, int connections);
  [[nodiscard]] std::vector<char> orbitsOf(const Set& set) const;

  const Problem& m_problem;
  std::vector<int> m_weights;
  std::vector<int> m_choices;  ///< orbits that count
  std::vector<Set> m_sets;
  std::size_t m_at = 0;
  bool m_isListed = false;
  int m_tooMany = std::numeric_limits<int>::max();  ///< connections with which the sets are too many to list
};

}  // namespace coppice::taccl
