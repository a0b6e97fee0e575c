// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "synth/problem.hpp"
#include "synth/round_coding.hpp"
#include "synth/sat.hpp"
#include "synth/symmetry.hpp"

namespace coppice::synth {

/// One instance as clauses. have[chunk, rank, step] is monotone in the steps; a send needs the chunk at its sender
/// before and brings it to a receiver that lacks it. Arrivals before the distance from the sources, and sends that
/// come too late to matter, are constants. Limits are counted by totalisers whose outputs imply surplus rounds.
///
/// With a group of symmetries, a variable stands for its whole orbit: a solution is then one of the instance, while no
/// solution proves nothing.
class Encoding {
public:
  /// Throws EncodingStopped. @param group all elements of a group; empty = no symmetry
  Encoding(const Problem& problem, std::int64_t n, const RoundBox& box, std::span<const Symmetry> group,
           SatSolver& solver, EncodingGuard guard);

  /// Literals that the encoding of an instance needs at most: to refuse before memory runs out.
  [[nodiscard]] static std::int64_t sizeOf(const Problem& problem, std::int64_t n, int steps, std::size_t groupSize);
  /// After the solver said sat. Sends that repeat others are gone (prune).
  [[nodiscard]] Steps decode() const;

private:
  void findOrbits();
  void makeHaves();
  void makeSends();
  void addLimits();
  [[nodiscard]] std::vector<int> sendsOver(int limit, int step) const;
  [[nodiscard]] int have(int chunkClass, std::int64_t i, int node, int step) const;
  [[nodiscard]] int send(int chunkClass, std::int64_t i, int arc, int step) const;
  [[nodiscard]] std::size_t haveIndex(int chunkClass, std::int64_t i, int node, int step) const;
  [[nodiscard]] std::size_t sendIndex(int chunkClass, std::int64_t i, int arc, int step) const;
  [[nodiscard]] bool isTight(int node) const;
  [[nodiscard]] int steps() const { return m_box.steps(); }

  const Problem& m_problem;
  const Topology& m_topology;
  std::int64_t m_n;
  const RoundBox& m_box;
  std::span<const Symmetry> m_group;
  SatSolver& m_solver;
  Clauses m_clauses;
  RoundCoding m_rounds;
  std::vector<int> m_haveOrbit;   ///< by class and node: index of its smallest image
  std::vector<int> m_sendOrbit;   ///< by class and arc
  std::vector<int> m_limitOrbit;  ///< by limit
  std::vector<int> m_nodeOrbit;
  std::vector<int> m_haves;  ///< literal by orbit, i, step
  std::vector<int> m_sends;  ///< literal by orbit, i, step; kFalse = never
};

}  // namespace coppice::synth
