// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "synth/sat.hpp"
#include "synth/topology.hpp"

namespace coppice::synth {

/// Rounds that each step may have; they add up to `total` at most.
struct RoundBox {
  std::vector<std::int64_t> min;
  std::vector<std::int64_t> max;
  std::int64_t total = 0;

  [[nodiscard]] int steps() const { return static_cast<int>(min.size()); }
};

/// The rounds of the steps as surplus bits in unary, and limits that grow with them.
class RoundCoding {
public:
  /// Adds the bits and that they add up. The box must outlive this.
  RoundCoding(const Topology& topology, const RoundBox& box, Clauses& clauses);

  /// At most floor(perRound * rounds) of the literals. With `isFull`, no less either.
  void addLimit(int limit, int step, const std::vector<int>& literals, bool isFull);
  [[nodiscard]] std::vector<std::int64_t> decode(const SatSolver& solver) const;

private:
  const Topology& m_topology;
  const RoundBox& m_box;
  Clauses& m_clauses;
  std::vector<std::vector<int>> m_surplus;  ///< by step: more than k rounds above the minimum
};

}  // namespace coppice::synth
