// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rational.hpp"
#include "topology/digraph.hpp"

/// What one node receives under BFB, and the exact load of its links.
namespace coppice::finder {

/// Equal jobs of a step: shards that may arrive over exactly these in-links (bit j = in-link j).
struct JobClass {
  std::uint64_t mask = 0;
  std::int64_t count = 0;
};

using StepJobs = std::vector<JobClass>;

/// Masks have this many bits.
inline constexpr int kMaxLinks = 64;

/// The minimum possible largest load of `links` unit links, in shards: max over sets W of links of cnt(W)/|W|, where
/// cnt(W) counts the jobs whose mask lies inside W (Theorem 19 made quantitative). Throws OverflowError.
[[nodiscard]] Rational stepLoad(std::span<const JobClass> jobs, int links);

/// Jobs of one target by step (index 0 = step 1), with distance and mask of each node.
struct Profile {
  int links = 0;
  std::vector<StepJobs> steps;
  std::vector<int> distance;         ///< d(v, target); 0 at the target
  std::vector<std::uint64_t> masks;  ///< last links of the shortest paths from v

  [[nodiscard]] int stepCount() const { return static_cast<int>(steps.size()); }
};

/// Searches backward from targets of one graph; holds what the searches share.
class ProfileSearch {
public:
  /// @pre degree <= kMaxLinks, every node has `degree` in-links, strongly connected
  explicit ProfileSearch(const topology::Digraph& graph);
  /// Valid until the next call. Self-loops carry nothing and have no bit set in any mask.
  const Profile& at(int target);

private:
  void group();

  int m_nodes;
  int m_degree;
  std::vector<int> m_in;  ///< tails of the in-links, by head
  std::vector<int> m_queue;
  std::vector<std::size_t> m_levelStart;
  std::vector<std::int64_t> m_table;
  std::vector<std::uint64_t> m_sorted;
  Profile m_profile;
};

/// Steps and loads of an allgather by BFB.
struct Value {
  std::vector<Rational> stepLoads;  ///< U_t, shards per unit link

  [[nodiscard]] int steps() const { return static_cast<int>(stepLoads.size()); }
  /// T_B in units of M/B: degree / nodes * sum of U_t.
  [[nodiscard]] Rational bandwidthTime(std::int64_t nodes, std::int64_t degree) const;
};

[[nodiscard]] Value valueOf(const Profile& profile);

/// One target stands for all: for vertex-transitive graphs, and others in which every node has the same loads.
[[nodiscard]] Value valueOfOne(const topology::Digraph& graph);

}  // namespace coppice::finder
