// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mscclpp/execution_plan.hpp"

/// Internal to the check of execution plans: the size that a plan is run at, and where the buffers are.
namespace coppice::verify {

/// A size in cells. One cell is the smallest part that is kept apart: a chunk, or less where groups of threadblocks or
/// pipelines cut chunks.
struct MscclppShape {
  std::int64_t cellsPerChunk = 1;
  std::int64_t cellBytes = 0;  ///< of pipelines' units; 0 = none
  /// Chunks of scratch lie this far apart: less than a chunk where reused scratch is shorter.
  std::int64_t scratchStride = 1;
  bool wrapsScratch = false;  ///< offsets in scratch count modulo scratchStride
};

/// All sizes at which a plan has to be right: one without pipelines, several with them.
[[nodiscard]] std::vector<MscclppShape> shapesOf(const mscclpp::ExecutionPlan& plan);

/// The cells of all buffers, one behind the other.
class MscclppLayout {
public:
  MscclppLayout(const mscclpp::ExecutionPlan& plan, const MscclppShape& shape);

  [[nodiscard]] std::int64_t cells() const { return m_cells; }
  [[nodiscard]] std::int64_t inputOf(int rank) const { return m_input[rank]; }
  [[nodiscard]] std::int64_t outputOf(int rank) const { return m_output[rank]; }
  /// @param half of double scratch: 0 or 1
  [[nodiscard]] std::int64_t scratchOf(int rank, int half) const { return m_scratch[rank] + half * m_half[rank]; }
  /// The caller's buffers of a rank, as one or two runs of cells.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> callersOf(int rank) const;
  /// Chunks of the collective before those of the rank: of allgather's inputs, reduce_scatter's outputs.
  [[nodiscard]] std::int64_t sliceOf(int rank) const { return m_slice[rank]; }

private:
  const mscclpp::ExecutionPlan& m_plan;
  MscclppShape m_shape;
  std::int64_t m_cells = 0;
  std::vector<std::int64_t> m_input;
  std::vector<std::int64_t> m_output;
  std::vector<std::int64_t> m_scratch;
  std::vector<std::int64_t> m_half;
  std::vector<std::int64_t> m_slice;
};

/// The collective by the plan's word for it; custom for words that say nothing of the result.
[[nodiscard]] Collective collectiveOf(const mscclpp::ExecutionPlan& plan);

}  // namespace coppice::verify
