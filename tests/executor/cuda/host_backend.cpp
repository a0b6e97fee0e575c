// SPDX-License-Identifier: Apache-2.0
#include "executor/cuda/host_backend.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "cuda/shape.hpp"
#include "engine/kernels.hpp"
#include "executor/cuda/host_machine.hpp"

namespace coppice::executor::cuda::test {
namespace {

constexpr std::uint32_t kTraceRoom = 64;
constexpr std::size_t kBufferAlignment = 64;
[[maybe_unused]] constexpr std::size_t kStackBytes = std::size_t{256} << 10;

std::byte* aligned(std::vector<std::byte>& memory) {
  void* start = memory.data();
  std::size_t room = memory.size();
  return static_cast<std::byte*>(std::align(kBufferAlignment, 1, start, room));
}

}  // namespace

HostBackend::HostBackend(HostOptions options) : m_options(std::move(options)) {
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // these need stacks of the usual size
  // Hundreds of threads come and go with every run; small stacks are kept for the next ones.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}

Outcome HostBackend::prepare(const Plan& plan, const Geometry& geometry) {
  m_plan = &plan;
  m_geometry = geometry;
  m_script = makeScript(plan, geometry, true);
  const auto devices = static_cast<int>(m_options.reach.size());
  m_placement = placeConnections(plan, spreadRanks(plan.rankCount(), devices), m_options.reach);
  auto packed = packPlan(plan, m_placement.canPull);
  if (!packed) {
    return packed.error();
  }
  m_packed = *std::move(packed);
  placeRings(m_packed, m_placement);
  const auto run = makeRunView(plan, geometry, ReduceOp::sum, m_options.strands);
  if (!run) {
    return run.error();
  }

  Addresses addresses;
  m_rankMemory.clear();
  m_layouts.clear();
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    m_layouts.push_back(layOutBuffers(plan, geometry, rank));
    m_rankMemory.emplace_back(static_cast<std::size_t>(m_layouts.back().bytes) + kBufferAlignment);
    std::byte* start = aligned(m_rankMemory.back());
    writeGuards(start, m_layouts.back());
    auto* bytes = reinterpret_cast<unsigned char*>(start);
    addresses.base.push_back(
        {bytes + m_layouts.back().input, bytes + m_layouts.back().output, bytes + m_layouts.back().scratch});
  }
  m_control.clear();
  m_slots.clear();
  m_progress.clear();
  m_trace.clear();
  addresses.traceRoom = kTraceRoom;
  const ControlLayout layout = layOutControl(plan, geometry.depth);
  for (std::size_t place = 0; place < m_placement.ringsAt.size(); ++place) {
    m_control.emplace_back(static_cast<std::size_t>(layout.strandWords * m_options.strands), Word{0});
    m_slots.emplace_back(static_cast<std::size_t>(
        m_placement.ringsAt[place] * m_options.strands * geometry.depth * run->slotStride + 16));
    addresses.control.push_back(m_control.back().data());
    auto* start = m_slots.back().data();
    addresses.rings.push_back(start + (16 - reinterpret_cast<std::uintptr_t>(start) % 16) % 16);
  }
  const std::vector<std::int64_t> blocks = blocksOnDevices(plan, m_placement.deviceOfRank, devices);
  for (int device = 0; device < devices; ++device) {
    const auto views = static_cast<std::size_t>(blocks[static_cast<std::size_t>(device)] * m_options.strands);
    m_progress.emplace_back(views, Word{0});
    m_trace.emplace_back(views * kTraceRoom);
    addresses.ops.push_back(m_packed.ops.data());
  }
  for (int device = 0; device < devices; ++device) {
    addresses.progress.push_back(m_progress[static_cast<std::size_t>(device)].data());
    addresses.trace.push_back(m_trace[static_cast<std::size_t>(device)].data());
  }
  m_grids = wire(plan, m_packed, m_placement, *run, addresses);
  m_tilesBefore = 0;
  return Done{};
}

std::size_t HostBackend::threads() const {
  std::size_t count = 0;
  for (const Grid& grid : m_grids) {
    count += grid.views.size() * m_options.lanes;
  }
  return count;
}

std::vector<int> HostBackend::localRanks() const {
  std::vector<int> ranks(m_layouts.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

RankBuffers HostBackend::buffers(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  std::byte* start = aligned(m_rankMemory[index]);
  return {.input = start + m_layouts[index].input, .output = start + m_layouts[index].output};
}

std::int64_t HostBackend::damagedGuards() {
  std::int64_t damaged = 0;
  for (std::size_t rank = 0; rank < m_layouts.size(); ++rank) {
    damaged += executor::damagedGuards(aligned(m_rankMemory[rank]), m_layouts[rank]);
  }
  return damaged;
}

void HostBackend::abort() noexcept {
  std::atomic_ref<Word>(m_abort).store(1);
}

ProgressWords HostBackend::progressNow() {
  ProgressWords words;
  for (std::vector<Word>& device : m_progress) {
    std::vector<Word>& own = words.emplace_back();
    for (Word& word : device) {
      own.push_back(std::atomic_ref<Word>(word).load());
    }
  }
  return words;
}

/// One run of the grid; returns when all blocks have ended.
void HostBackend::launch(const RunView& view) {
  std::vector<std::unique_ptr<HostBlock>> blocks;
  std::vector<std::jthread> threads;
  withElement(m_geometry.type, [&](auto element) {
    using Element = decltype(element);
    for (const Grid& grid : m_grids) {
      for (const BlockView& own : grid.views) {
        blocks.push_back(std::make_unique<HostBlock>(m_options.lanes));
        HostBlock& block = *blocks.back();
        block.shared.view = own;
        for (unsigned lane = 0; lane < m_options.lanes; ++lane) {
          threads.emplace_back([&view, &block, lane] {
            HostMachine machine(block, lane, view);
            runBlock<Element>(machine, view);
          });
        }
      }
    }
  });
}

RunResult HostBackend::run(const RunRequest& request) {
  RunView view = *makeRunView(*m_plan, m_geometry, request.op, m_options.strands);
  view.abort = &m_abort;
  view.traces = request.trace;
  std::atomic_ref<Word>(m_abort).store(0);
  for (Grid& grid : m_grids) {
    for (BlockView& own : grid.views) {
      own.counters[kTraced] = 0;
    }
  }
  std::mutex mutex;
  std::condition_variable ending;
  bool ended = false;
  std::optional<program::StuckRecord> stuck;
  std::jthread watcher([&] {
    StallWatch watch(request.stallSeconds, m_options.deadlockSeconds);
    std::unique_lock lock(mutex);
    while (!ending.wait_for(lock, std::chrono::milliseconds(5), [&] { return ended; })) {
      const ProgressWords words = progressNow();
      const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
      const auto verdict = watch.look(words, now);
      if (request.stop.stop_requested()) {
        abort();
      } else if (verdict != StallWatch::Verdict::moves && !stuck) {
        stuck = explain(*m_plan, m_script, m_grids, words, verdict == StallWatch::Verdict::deadlock);
        abort();
      }
    }
  });
  for (int iteration = 0; iteration < request.iterations; ++iteration) {
    view.tilesBefore = m_tilesBefore;
    launch(view);
    m_tilesBefore += static_cast<Word>(view.tiles);
  }
  {
    const std::lock_guard lock(mutex);
    ended = true;
  }
  ending.notify_one();
  watcher.join();
  if (stuck) {
    return RunFailure{.exit = program::RunExit::hang,
                      .error = {.code = ErrorCode::verification, .message = stuck->text},
                      .stuck = stuck};
  }
  if (std::atomic_ref<Word>(m_abort).load() != 0) {
    return RunFailure{.exit = program::RunExit::cancelled,
                      .error = {.code = ErrorCode::cancelled, .message = "stopped"},
                      .stuck = {}};
  }
  if (request.op == ReduceOp::avg) {
    for (const int rank : localRanks()) {
      if (!isRooted(m_plan->operation) || rank == m_plan->root) {
        divideBytes(m_geometry.type, buffers(rank).output, m_geometry.outputElements * m_geometry.elementBytes,
                    m_plan->rankCount());
      }
    }
  }
  return RunTimes{.seconds = {}, .total = 1};
}

std::vector<program::TraceEvent> HostBackend::takeTrace(std::int64_t& dropped) {
  std::vector<program::TraceEvent> events;
  dropped = 0;
  for (const Grid& grid : m_grids) {
    for (std::size_t view = 0; view < grid.views.size(); ++view) {
      const BlockView& own = grid.views[view];
      const auto kept = std::min<Word>(own.counters[kTraced], own.traceRoom);
      dropped += static_cast<std::int64_t>(own.counters[kTraced] - kept);
      const PlanBlock& block = m_plan->blocks[static_cast<std::size_t>(grid.blocks[view % grid.blocks.size()])];
      for (Word index = 0; index < kept; ++index) {
        const TraceSlot& slot = own.trace[index];
        events.push_back({.rank = block.rank,
                          .threadBlock = block.id,
                          .step = static_cast<int>(slot.step),
                          .tile = static_cast<int>(slot.tile),
                          .start_ns = static_cast<std::int64_t>(slot.start),
                          .end_ns = static_cast<std::int64_t>(slot.end)});
      }
    }
  }
  return events;
}

}  // namespace coppice::executor::cuda::test
