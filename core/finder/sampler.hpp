// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "finder/profile.hpp"
#include "topology/cayley.hpp"

/// Draws Cayley digraphs of metacyclic groups. The draw of a seed is the same on every machine, so that the catalogue
/// needs only the seeds of good ones.
namespace coppice::finder {

struct CayleyDraw {
  topology::Metacyclic group;
  std::vector<topology::Element> generators;
};

/// Draws for one number of nodes.
class Sampler {
public:
  explicit Sampler(int nodes);

  /// `degree` generators; closed under inverses where isDuplex. About every second draw is a union of orbits of a map
  /// that most often is an automorphism: links of one orbit then have equal loads, which makes balance likely. nullopt
  /// where the draw leads to no such set.
  [[nodiscard]] std::optional<CayleyDraw> draw(int degree, bool isDuplex, std::uint32_t seed);

private:
  class Random;
  struct Map;

  const std::vector<int>& rootsOfUnity(int modulus, int order);
  std::vector<int> compatibleFactors(const topology::Metacyclic& group, int order);
  topology::Metacyclic drawGroup(Random& random);
  Map drawMap(const topology::Metacyclic& group, int degree, Random& random);

  int m_nodes;
  std::vector<int> m_divisors;                                ///< of the number of nodes, without 1
  std::map<std::pair<int, int>, std::vector<int>> m_rootsOf;  ///< by modulus and order: x with x^order = 1
};

/// Evaluates Cayley digraphs by one search from the identity.
class CayleySearch {
public:
  /// False where S does not generate the group.
  bool run(const CayleyDraw& draw);

  [[nodiscard]] int steps() const { return static_cast<int>(m_profile.steps.size()); }
  [[nodiscard]] Value value() const { return valueOf(m_profile); }
  [[nodiscard]] const Profile& profile() const { return m_profile; }

private:
  std::vector<int> m_distance;
  std::vector<std::uint64_t> m_masks;
  std::vector<int> m_queue;
  std::vector<int> m_shift;
  std::vector<int> m_order;
  std::vector<std::int64_t> m_table;
  Profile m_profile;
};

/// The draw whose reduce_scatter is the allgather of the given one: S becomes its inverses.
[[nodiscard]] CayleyDraw reversed(const CayleyDraw& draw);

}  // namespace coppice::finder
