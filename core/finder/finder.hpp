// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "finder/construction.hpp"
#include "finder/values.hpp"

/// Which topologies N nodes of d ports each can be cabled as: the Pareto front of steps against bandwidth time.
namespace coppice::finder {

/// More links per node are not searched.
inline constexpr int kMaxDegree = kMaxLinks;

/// One topology with its exact cost under BFB.
struct Entry {
  int nodes = 0;
  int degree = 0;
  int steps = 0;             ///< T: the diameter
  Rational bandwidthTime;    ///< T_B of allgather in units of M/B
  bool isDuplex = false;     ///< every link has one back
  bool isSymmetric = false;  ///< every node has the same loads: one target stands for all
  /// False for values of the dissertation's formulas, which are upper bounds or quoted.
  bool isExact = true;
  ConstructionPtr construction;
  /// Over all pairs, a node and itself included: no all-to-all takes less (distances.hpp). Where the query asks for it.
  std::optional<Rational> meanDistance = {};

  /// T_B = (N-1)/N.
  [[nodiscard]] bool isBandwidthOptimal() const { return bandwidthTime == Rational(nodes - 1, nodes); }
};

struct Query {
  int nodes = 0;
  int degree = 0;
  bool isDuplex = false;  ///< only topologies whose links all have one back
  /// Only the base graphs and formulas of the dissertation.
  bool isPaper = false;
  std::optional<int> maxSteps = {};
  bool onlyOptimal = false;  ///< only T_B = (N-1)/N
  /// A third goal: entries stay whose mean distance is lower, which is what an all-to-all takes at least.
  bool hasAlltoall = false;
};

/// Errors: badUsage for N < 2, d < 1 or N <= d with nothing to build, or an all-to-all of the dissertation's formulas
/// alone; limit beyond kMaxNodes or kMaxDegree.
[[nodiscard]] Outcome check(const Query& query);

/// Keeps what searches of several N and d share. Deterministic; one thread at a time.
class Finder {
public:
  Finder();
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  /// Ascending by steps, descending by T_B. Every entry's values are those of BFB on the graph that build() makes,
  /// except with Query::isPaper. `notes`, where given, gets what was left out and why. Errors: those of check();
  /// cancelled, overflow.
  [[nodiscard]] Result<std::vector<Entry>> front(const Query& query, const Progress& progress = {},
                                                 std::vector<std::string>* notes = nullptr);

private:
  class Search;
  class Paper;
  std::unique_ptr<Search> m_search;
  std::unique_ptr<Paper> m_paper;
};

/// The Pareto front: ascending steps, strictly descending T_B. Of equals: duplex, then fewer operations, then the one
/// that comes first.
[[nodiscard]] std::vector<Entry> paretoFront(std::vector<Entry> entries);

/// Which of two entries with equal values stays.
[[nodiscard]] bool isSimpler(const Entry& a, const Entry& b);

/// T_B of the reduce_scatter on the topology: BFB on the transpose, turned round. Throws CancelledError. Errors: those
/// of build().
[[nodiscard]] Result<Value> reduceScatterValue(const Entry& entry, const Progress& progress = {});
/// The step loads of the allgather. Throws CancelledError. Errors: those of build().
[[nodiscard]] Result<Value> allgatherValue(const Entry& entry, const Progress& progress = {});

/// To which sizes an entry grows without new base graphs.
struct Growth {
  std::string by;  ///< "line graph", "degree expansion", "power"
  std::int64_t nodes = 0;
  std::int64_t degree = 0;
};
/// The nearest of each kind within kMaxNodes and kMaxDegree.
[[nodiscard]] std::vector<Growth> growths(const Entry& entry);

}  // namespace coppice::finder
