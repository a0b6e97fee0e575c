// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "synth/problem.hpp"
#include "synth/round_coding.hpp"
#include "synth/sat.hpp"
#include "synth/symmetry.hpp"

namespace coppice::synth {

/// A message of an allreduce in one piece: the sender's accumulator of a slot, as the step before left it.
struct Message {
  int slot = 0;
  int arc = 0;
  int step = 0;
  bool reduces = false;  ///< added to the receiver's accumulator; else it replaces that

  friend auto operator<=>(const Message&, const Message&) = default;
};

struct DirectSteps {
  std::vector<std::int64_t> rounds;
  std::vector<Message> messages;
};

/// Allreduce in one piece, with one accumulator per slot and rank. A message is added where contents are disjoint, or
/// replaces what is there (at most one, and nothing is added beside it). At the end every accumulator holds the
/// contribution of every rank. What is refuted here is refuted for schedules of this class only; reduce_scatter
/// followed by allgather lies within it.
class DirectEncoding {
public:
  /// Throws EncodingStopped. @param group as for Encoding, of any problem on this topology
  DirectEncoding(const Topology& topology, std::int64_t slots, const RoundBox& box, std::span<const Symmetry> group,
                 SatSolver& solver, EncodingGuard guard);
  [[nodiscard]] static std::int64_t sizeOf(const Topology& topology, std::int64_t slots, int steps,
                                           std::size_t groupSize);
  [[nodiscard]] DirectSteps decode() const;

private:
  void findOrbits();
  void makeVariables();
  void addReceives(std::int64_t slot, int node, int step);
  void addContents(std::int64_t slot, int node, int origin, int step);
  void addLimits();
  [[nodiscard]] int holds(std::int64_t slot, int node, int origin, int step) const;
  [[nodiscard]] int sends(std::int64_t slot, int arc, int step, bool reduces) const;
  [[nodiscard]] std::size_t holdsIndex(std::int64_t slot, int node, int origin, int step) const;
  [[nodiscard]] std::size_t sendsIndex(std::int64_t slot, int arc, int step, bool reduces) const;
  [[nodiscard]] int steps() const { return m_box.steps(); }

  const Topology& m_topology;
  std::int64_t m_slots;
  const RoundBox& m_box;
  std::span<const Symmetry> m_group;
  SatSolver& m_solver;
  Clauses m_clauses;
  RoundCoding m_rounds;
  std::vector<int> m_holdOrbit;  ///< by node and origin
  std::vector<int> m_arcOrbit;
  std::vector<int> m_limitOrbit;
  std::vector<int> m_holds;
  std::vector<int> m_sends;
};

/// Plays it: nullopt where every rank ends with every contribution once.
[[nodiscard]] std::optional<std::string> faultOf(const Topology& topology, std::int64_t slots,
                                                 const DirectSteps& steps);

}  // namespace coppice::synth
