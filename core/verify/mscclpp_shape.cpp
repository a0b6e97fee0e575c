// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_shape.hpp"

#include <algorithm>
#include <numeric>

namespace coppice::verify {

namespace {

using mscclpp::ExecutionPlan;
using mscclpp::Gpu;
using mscclpp::Operation;
using mscclpp::OpType;

/// Beyond this, parts of groups are rounded as the executor rounds them.
constexpr std::int64_t kMaxCellsPerChunk = 64;
constexpr std::int64_t kMaxWrap = 256;

template <typename Visit>
void forEachOp(const ExecutionPlan& plan, const Visit& visit) {
  for (const Gpu& gpu : plan.gpus) {
    for (const mscclpp::ThreadBlock& block : gpu.blocks) {
      for (const Operation& op : block.ops) {
        visit(op);
        for (const Operation& inner : op.inner) {
          visit(inner);
        }
      }
    }
  }
}

std::int64_t cellsForGroups(const ExecutionPlan& plan) {
  std::int64_t cells = 1;
  forEachOp(plan, [&](const Operation& op) {
    for (const auto* runs : {&op.sources, &op.destinations}) {
      for (const mscclpp::ChunkRun& run : *runs) {
        if (op.groupSize > 1) {
          const std::int64_t part = op.groupSize / std::gcd(op.groupSize, run.size);
          const std::int64_t both = std::lcm(cells, part);
          cells = both <= kMaxCellsPerChunk ? both : cells;
        }
      }
    }
  });
  return cells;
}

}  // namespace

std::vector<MscclppShape> shapesOf(const ExecutionPlan& plan) {
  const std::int64_t group = cellsForGroups(plan);
  std::int64_t unit = 0;
  std::int64_t longest = 0;
  forEachOp(plan, [&](const Operation& op) {
    if (op.type == OpType::pipeline) {
      unit = std::gcd(unit, op.unitBytes);
      longest = std::max(longest, op.unitBytes);
    }
  });
  if (unit == 0) {
    return {{.cellsPerChunk = group, .scratchStride = group}};
  }
  const std::int64_t cellBytes = unit / std::gcd(unit, group);
  const std::int64_t perUnit = std::min<std::int64_t>(longest / cellBytes, kMaxCellsPerChunk);
  std::vector<MscclppShape> shapes;
  for (const std::int64_t pieces : {1, 3}) {
    shapes.push_back({.cellsPerChunk = perUnit * pieces, .cellBytes = cellBytes, .scratchStride = perUnit * pieces});
  }
  int scratch = 0;
  for (const Gpu& gpu : plan.gpus) {
    scratch = std::max(scratch, gpu.scratchChunks);
  }
  if (plan.reusesResources && scratch > 0) {
    // Large calls come round in scratch: two pieces more than it holds.
    const std::int64_t bytes = mscclpp::kReusedScratchBytes / (plan.doublesScratch ? 2 : 1) / scratch;
    const std::int64_t stride = bytes / cellBytes;
    if (stride >= 1 && stride + 2 * perUnit <= kMaxWrap) {
      shapes.push_back({.cellsPerChunk = stride + 2 * perUnit,
                        .cellBytes = cellBytes,
                        .scratchStride = stride,
                        .wrapsScratch = true});
    }
  }
  return shapes;
}

Collective collectiveOf(const ExecutionPlan& plan) {
  const auto known = parseCollective(plan.collective);
  if (!known || *known == Collective::custom) {
    return Collective::custom;
  }
  return *known;
}

MscclppLayout::MscclppLayout(const ExecutionPlan& plan, const MscclppShape& shape) : m_plan(plan), m_shape(shape) {
  const Collective collective = collectiveOf(plan);
  std::int64_t slice = 0;
  for (const Gpu& gpu : plan.gpus) {
    m_slice.push_back(slice);
    slice += gpu.hasNoShare                                                                 ? 0
             : collective == Collective::reduceScatter || collective == Collective::scatter ? gpu.outputChunks
                                                                                            : gpu.inputChunks;
  }
  const auto take = [&](std::int64_t chunks) {
    m_cells += chunks * shape.cellsPerChunk;
    return m_cells - chunks * shape.cellsPerChunk;
  };
  for (std::size_t rank = 0; rank < plan.gpus.size(); ++rank) {
    const Gpu& gpu = plan.gpus[rank];
    if (!plan.inPlace) {
      m_input.push_back(take(gpu.inputChunks));
      m_output.push_back(take(gpu.outputChunks));
    } else if (collective == Collective::allgather) {
      m_output.push_back(take(std::max<std::int64_t>(gpu.outputChunks, m_slice[rank] + gpu.inputChunks)));
      m_input.push_back(m_output.back() + m_slice[rank] * shape.cellsPerChunk);
    } else if (collective == Collective::reduceScatter) {
      m_input.push_back(take(std::max<std::int64_t>(gpu.inputChunks, m_slice[rank] + gpu.outputChunks)));
      m_output.push_back(m_input.back() + m_slice[rank] * shape.cellsPerChunk);
    } else {
      m_input.push_back(take(std::max(gpu.inputChunks, gpu.outputChunks)));
      m_output.push_back(m_input.back());
    }
    m_scratch.push_back(m_cells);
    m_half.push_back(gpu.scratchChunks * shape.scratchStride * (plan.hasPackets() ? 2 : 1));
    m_cells += m_half.back() * (plan.doublesScratch ? 2 : 1);
  }
}

std::vector<std::pair<std::int64_t, std::int64_t>> MscclppLayout::callersOf(int rank) const {
  const Gpu& gpu = m_plan.gpus[rank];
  const std::int64_t in = gpu.inputChunks * m_shape.cellsPerChunk;
  const std::int64_t out = gpu.outputChunks * m_shape.cellsPerChunk;
  if (!m_plan.inPlace) {
    return {{m_input[rank], m_input[rank] + in}, {m_output[rank], m_output[rank] + out}};
  }
  return {{std::min(m_input[rank], m_output[rank]), std::max(m_input[rank] + in, m_output[rank] + out)}};
}

}  // namespace coppice::verify
