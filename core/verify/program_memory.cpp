// SPDX-License-Identifier: Apache-2.0
#include "verify/program_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace coppice::verify {
namespace {

using program::Buffer;
using program::Runtime;
using program::StepType;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kSeveral = kNone - 1;

bool releases(const FlatStep& step, Runtime runtime) {
  if (runtime == Runtime::rccl61) {
    return step.type == StepType::recv || step.type == StepType::reduce;
  }
  return runtime == Runtime::rccl && step.dstBuffer != Buffer::scratch;
}

bool acquires(const FlatStep& step, Runtime runtime) {
  return runtime == Runtime::rccl && step.srcBuffer == Buffer::output;
}

/// What the runtime leaves out. @param isReleased the write has left its cache
std::string reasonFor(Runtime runtime, bool isReleased) {
  const std::string name(toString(runtime));
  switch (runtime) {
    case Runtime::rccl60:
      return name + " orders no memory between threadblocks, here and elsewhere";
    case Runtime::rccl61:
      return name + (isReleased ? " never waits with acquire order, here and elsewhere"
                                : " publishes with release order only r and re");
    default:
      return name + (isReleased ? " waits with acquire order only before a step whose srcbuf is o"
                                : " publishes with release order only after a step whose dstbuf is not s");
  }
}

std::string fixFor(Runtime runtime, bool isReleased) {
  if (runtime != Runtime::rccl) {
    return "on GPUs with several dies (MI300), use ROCm 6.2 or later";
  }
  return isReleased ? "let one threadblock add up the chunk, with nops that wait for its parts, or read it from o"
                    : "wait for the step that writes the chunk";
}

/// Replays one rank's events.
class RankMemory {
public:
  RankMemory(const program::Program& program, const FlatProgram& flat, const Layout& layout, int rank,
             const RankHistory& history, int chunksPerMessage, Runtime runtime, program::FindingSink& sink)
      : m_program(program),
        m_flat(flat),
        m_layout(layout),
        m_rank(rank),
        m_history(history),
        m_chunksPerMessage(chunksPerMessage),
        m_runtime(runtime),
        m_sink(sink),
        m_first(static_cast<std::size_t>(flat.firstBlock[rank])),
        m_blocks(static_cast<std::size_t>(flat.firstBlock[static_cast<std::size_t>(rank) + 1]) - m_first),
        m_scratch(layout.location(rank, Buffer::scratch, 0)),
        m_cells(m_scratch),
        m_states(m_blocks) {
    for (std::size_t block = 0; block < m_blocks; ++block) {
      m_states[block].step = blockAt(block).firstStep;
      m_states[block].released.assign(m_blocks, 0);
      m_states[block].visible.assign(m_blocks, 0);
    }
    if (m_blocks > 0) {
      m_firstStep = blockAt(0).firstStep;
      m_published.resize(blockAt(m_blocks - 1).endStep - m_firstStep);
    }
  }

  /// @return whether a read can be stale
  bool run() {
    for (const std::uint32_t block : m_history.events) {
      step(block);
    }
    return m_reportedStep != kNone;
  }

private:
  /// Events of each threadblock of the rank.
  using Clock = std::vector<std::uint32_t>;

  struct State {
    std::uint32_t step = 0;
    int chunk = 0;
    std::uint32_t events = 0;
    bool hasWaited = false;  ///< in nops, whose waits are those of the step after them
    Clock released;          ///< whose writes have left their caches, as far as this threadblock knows
    Clock visible;           ///< whose writes this threadblock is sure to read
  };

  struct Cell {
    std::uint32_t writer = kNone;
    std::uint32_t writeEvent = 0;
    std::uint32_t writeStep = 0;
    std::uint32_t toucher = kNone;   ///< the only threadblock that read or wrote it, kSeveral, or kNone
    bool isCachedElsewhere = false;  ///< another threadblock than the writer touched it before
  };

  [[nodiscard]] const FlatBlock& blockAt(std::size_t block) const { return m_flat.blocks[m_first + block]; }

  static void join(Clock& into, const Clock& from) {
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = std::max(into[i], from[i]);
    }
  }

  void step(std::uint32_t block) {
    State& state = m_states[block];
    const FlatStep& step = m_flat.steps[state.step];
    ++state.events;
    if (state.chunk == 0 && step.waitsForBlock >= 0) {
      join(state.released, m_published[step.waitsForStep - m_firstStep]);
      state.hasWaited = true;
    }
    if (state.hasWaited && step.type != StepType::nop) {
      if (acquires(step, m_runtime)) {
        join(state.visible, state.released);
      }
      state.hasWaited = false;
    }
    const int chunks = step.exchanges ? std::min(m_chunksPerMessage, step.count - state.chunk) : step.count;
    if (step.type != StepType::nop) {
      access(block, step, state.chunk, chunks);
    }
    state.chunk += chunks;
    if (state.chunk >= step.count) {
      if (step.publishes && releases(step, m_runtime)) {
        state.released[block] = state.events;
      }
      if (step.isTarget) {
        m_published[state.step - m_firstStep] = state.released;
      }
      ++state.step;
      state.chunk = 0;
    }
  }

  void access(std::uint32_t block, const FlatStep& step, int firstChunk, int chunks) {
    const auto each = [&](Buffer buffer, int offset, auto touch) {
      if (buffer != Buffer::scratch) {
        const std::uint32_t first = m_layout.location(m_rank, buffer, offset + firstChunk);
        for (int chunk = 0; chunk < chunks; ++chunk) {
          touch(first + static_cast<std::uint32_t>(chunk));
        }
      }
    };
    const auto reads = [&](std::uint32_t location) { read(block, location); };
    if (usesSource(step.type)) {
      each(step.srcBuffer, step.srcOffset, reads);
    }
    if (step.type == StepType::reduce) {
      each(step.dstBuffer, step.dstOffset, reads);
    }
    if (usesDestination(step.type)) {
      each(step.dstBuffer, step.dstOffset, [&](std::uint32_t location) { write(block, location); });
    }
  }

  static void touch(Cell& cell, std::uint32_t block) {
    cell.toucher = cell.toucher == kNone || cell.toucher == block ? block : kSeveral;
  }

  void read(std::uint32_t block, std::uint32_t location) {
    Cell& cell = m_cells[location];
    if (cell.writer != kNone && cell.writer != block) {
      const State& state = m_states[block];
      const bool isReleased = state.released[cell.writer] >= cell.writeEvent;
      if (!isReleased || (cell.isCachedElsewhere && state.visible[cell.writer] < cell.writeEvent)) {
        report(block, cell, location, isReleased);
      }
    }
    touch(cell, block);
  }

  void write(std::uint32_t block, std::uint32_t location) {
    Cell& cell = m_cells[location];
    cell.isCachedElsewhere = cell.toucher != kNone && cell.toucher != block;
    cell.writer = block;
    cell.writeEvent = m_states[block].events;
    cell.writeStep = m_states[block].step;
    touch(cell, block);
  }

  void report(std::uint32_t block, const Cell& cell, std::uint32_t location, bool isReleased) {
    const std::uint32_t step = m_states[block].step;
    if (step == m_reportedStep || (m_reportedStep != kNone && m_runtime != Runtime::rccl)) {
      return;  // the other chunks of the step; no other program would do better on earlier releases
    }
    m_reportedStep = step;
    if (!m_sink.wants(static_cast<int>(Check::staleRead), Severity::warning)) {
      return;
    }
    const int reader = static_cast<int>(m_first + block);
    m_sink.add(static_cast<int>(Check::staleRead),
               {.severity = Severity::warning,
                .code = ErrorCode::verification,
                .text = std::string(m_layout.inPlace() ? "in place: " : "out of place: ") +
                        nameOperation(m_program, m_flat, reader, step) + " can read stale data from " +
                        nameLocation(m_layout, m_rank, location) + ", which " +
                        nameOperation(m_program, m_flat, static_cast<int>(m_first + cell.writer), cell.writeStep) +
                        " wrote: " + reasonFor(m_runtime, isReleased),
                .fix = fixFor(m_runtime, isReleased),
                .where = {.element = stepElement(m_flat, reader, step)}});
  }

  const program::Program& m_program;
  const FlatProgram& m_flat;
  const Layout& m_layout;
  int m_rank;
  const RankHistory& m_history;
  int m_chunksPerMessage;
  Runtime m_runtime;
  program::FindingSink& m_sink;
  std::size_t m_first;
  std::size_t m_blocks;
  std::uint32_t m_scratch;  ///< where it begins: it lies behind i and o
  std::uint32_t m_firstStep = 0;
  std::uint32_t m_reportedStep = kNone;
  std::vector<Cell> m_cells;  ///< of i and o
  std::vector<State> m_states;
  std::vector<Clock> m_published;  ///< by step that others wait for
};

}  // namespace

void checkMemoryOrder(const program::Program& program, const FlatProgram& flat, const Layout& layout,
                      const std::vector<RankHistory>& history, int chunksPerMessage, Runtime runtime,
                      const Progress& progress, program::FindingSink& sink) {
  for (std::size_t rank = 0; rank < history.size(); ++rank) {
    throwIfCancelled(progress);
    RankMemory memory(program, flat, layout, static_cast<int>(rank), history[rank], chunksPerMessage, runtime, sink);
    if (memory.run() && runtime != Runtime::rccl) {
      return;
    }
  }
}

}  // namespace coppice::verify
