// SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu_plan_backend.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "cuda/device_buffers.hpp"
#include "cuda/opened_backend.hpp"
#include "cuda/plan_wiring.hpp"
#include "engine/buffers.hpp"
#include "engine/run_failures.hpp"
#include "mscclpp/plan_shell.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr std::int64_t kPlanWordBytes = sizeof(Word);
constexpr std::int64_t kScratchAlignment = 512;
/// Lanes move 16 bytes at a time.
constexpr std::int64_t kVectorBytes = 16;
/// MSCCL++ counts bytes of a buffer in 32 bits.
constexpr std::int64_t kMaxBufferBytes = std::numeric_limits<std::uint32_t>::max();

bool hasUnalignedPieces(const mscclpp::ExecutionPlan& plan) {
  return std::any_of(plan.gpus.begin(), plan.gpus.end(), [](const mscclpp::Gpu& gpu) {
    return std::any_of(gpu.blocks.begin(), gpu.blocks.end(), [](const mscclpp::ThreadBlock& block) {
      return std::any_of(block.ops.begin(), block.ops.end(),
                         [](const mscclpp::Operation& op) { return op.unitBytes % kVectorBytes != 0; });
    });
  });
}

bool hasSwitches(const mscclpp::ExecutionPlan& plan) {
  return std::any_of(plan.gpus.begin(), plan.gpus.end(),
                     [](const mscclpp::Gpu& gpu) { return !gpu.switchGroups.empty(); });
}

class GpuPlanBackend : public Backend, private Launchable {
public:
  GpuPlanBackend(std::unique_ptr<Gpus> gpus, std::shared_ptr<const mscclpp::ExecutionPlan> plan, const Tuning& tuning)
      : m_plan(std::move(plan)), m_gpus(std::move(gpus)), m_control(*m_plan), m_loop(*m_gpus, tuning) {}
  ~GpuPlanBackend() override;
  Outcome open();

  BackendInfo info() const override;
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override;
  std::int64_t pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t bytes) const override {
    return std::max<std::int64_t>(bytes, 1);  // chunks move whole
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override {
    std::vector<int> ranks(m_plan->gpus.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  RankBuffers buffers(int /*rank*/) override { return {}; }
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) override {
    return m_isReady ? m_gpus->copyTo(m_deviceOfRank[rank], bufferOf(rank, kind) + offset, data.data(),
                                      static_cast<std::int64_t>(data.size()))
                     : Outcome(Error{.message = "data before the preparation"});
  }
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) override {
    return m_isReady ? m_gpus->copyFrom(m_deviceOfRank[rank], data.data(), bufferOf(rank, kind) + offset,
                                        static_cast<std::int64_t>(data.size()))
                     : Outcome(Error{.message = "data before the preparation"});
  }
  std::int64_t damagedGuards() override;
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override {
    m_loop.noteAbort();
    stopBlocks();
  }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    dropped = 0;
    return {};
  }
  double measureMemory(std::stop_token /*stop*/) override { return 0; }

private:
  /// Bytes.
  struct Layout {
    std::vector<BufferLayout> buffers;  ///< by rank
    std::vector<std::int64_t> blocks;   ///< by rank, where its buffers begin on its device; then the same of others
    std::vector<std::int64_t> scratch;
    std::vector<std::int64_t> control;
    std::vector<std::array<std::int64_t, kArenas>> arenas;  ///< by device
  };

  Outcome load(DataType type);
  /// Throws OverflowError.
  [[nodiscard]] Layout layOut(const Plan& shell, const Geometry& geometry) const;
  Outcome tryPrepare(const Plan& shell, const Geometry& geometry);
  Outcome reserve(const Geometry& geometry);
  /// Nothing is signalled, and no packet of an earlier size is taken for a new one.
  Outcome clean();
  Outcome writeTables(std::int64_t chunkBytes);
  [[nodiscard]] std::vector<int> ranksOn(int device) const;
  [[nodiscard]] unsigned char* arena(int rank, Arena which) const {
    return m_gpus->memory(m_deviceOfRank[rank], which).data;
  }
  [[nodiscard]] unsigned char* blockOf(int rank) const { return arena(rank, Arena::buffers) + m_layout.blocks[rank]; }
  [[nodiscard]] unsigned char* bufferOf(int rank, BufferKind kind) const {
    const BufferLayout& layout = m_layout.buffers[rank];
    return blockOf(rank) + (kind == BufferKind::input ? layout.input : layout.output);
  }

  Outcome launch(int slot, bool first) override;
  [[nodiscard]] ProgressWords progress() const override;
  [[nodiscard]] program::StuckRecord explain(bool isDeadlock) const override;
  void stopBlocks() noexcept override {
    if (Word* word = m_abortWord) {
      std::atomic_ref<Word>(*word).store(1);
    }
  }

  std::shared_ptr<const mscclpp::ExecutionPlan> m_plan;
  std::unique_ptr<Gpus> m_gpus;
  PlanControl m_control;
  LaunchLoop m_loop;
  std::vector<int> m_deviceOfRank;
  std::vector<std::int64_t> m_tableBytes;  ///< by device
  std::int64_t m_blocks = 0;               ///< of all devices
  int m_threads = 0;
  bool m_isReady = false;
  Layout m_layout;
  DataType m_type = DataType::float32;
  std::vector<PlanGrid> m_grids;  ///< by device
  std::uint32_t m_launches = 0;   ///< since the preparation
  std::atomic<Word*> m_abortWord = nullptr;
};

GpuPlanBackend::~GpuPlanBackend() {
  m_abortWord = nullptr;
  if (m_loop.isLost()) {
    m_gpus->forget();
  }
}

Outcome GpuPlanBackend::open() {
  const int devices = m_gpus->count();
  m_deviceOfRank = spreadRanks(static_cast<int>(m_plan->gpus.size()), devices);
  if (m_plan->alignment % kVectorBytes != 0 || hasUnalignedPieces(*m_plan)) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "buffer_alignment and pieces of pipelines must be multiples of 16 bytes on GPUs",
                 .fix = "use --backend threads"};
  }
  if (Outcome can = requirePlanOnGpus(*m_plan, m_deviceOfRank, m_gpus->reach()); !can) {
    return can;
  }
  // The tables have the same lengths at every size.
  const PlanAddresses nowhere{
      .buffers = std::vector<std::array<std::uintptr_t, 3>>(m_plan->gpus.size()),
      .control = std::vector<std::uintptr_t>(m_plan->gpus.size()),
  };
  for (int device = 0; device < devices; ++device) {
    const PlanGrid grid = wirePlan(*m_plan, m_plan->alignment, m_control, nowhere, ranksOn(device));
    m_tableBytes.push_back(grid.bytes());
    m_blocks += static_cast<std::int64_t>(grid.blocks.size());
  }
  if (Outcome loaded = load(DataType::float32); !loaded) {
    return loaded;
  }
  if (Outcome reserved = m_gpus->reserve(Pinned::abort, kPlanWordBytes); !reserved) {
    return reserved;
  }
  m_abortWord = reinterpret_cast<Word*>(m_gpus->memory(Pinned::abort).data);
  return Done{};
}

/// All threadblocks of a device must be on it at once.
Outcome GpuPlanBackend::load(DataType type) {
  std::vector<DeviceRoom> rooms;
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(m_gpus->count()), 0);
  for (int device = 0; device < m_gpus->count(); ++device) {
    const auto room = m_gpus->load(device, type, KernelKind::plans);
    if (!room) {
      return room.error();
    }
    rooms.push_back(*room);
    for (const int rank : ranksOn(device)) {
      blocks[device] += static_cast<std::int64_t>(m_plan->gpus[rank].blocks.size());
    }
  }
  const auto shape = chooseShape(blocks, rooms, 1);
  if (!shape) {
    return shape.error();
  }
  m_threads = shape->threads;
  m_type = type;
  return Done{};
}

std::vector<int> GpuPlanBackend::ranksOn(int device) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(m_deviceOfRank.size()); ++rank) {
    if (m_deviceOfRank[rank] == device) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

BackendInfo GpuPlanBackend::info() const {
  const auto ranks = static_cast<int>(m_plan->gpus.size());
  const int devices = m_gpus->count();
  BackendInfo info = {
      .name = "cuda",
      .label = "an execution plan by the interpreter of this program, not by MSCCL++",
      .summary = std::to_string(ranks) + " ranks on " + std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs"),
      .facts = m_gpus->facts()};
  if (ranks > devices) {
    info.label += std::string("; ") + kRehearsal;
  }
  info.facts["half and bfloat16"] = "added up in float at each step";
  info.facts["port channels"] = "written by the threadblocks themselves, without a proxy on the host";
  if (hasSwitches(*m_plan)) {
    info.facts["switch channels"] = "every GPU of the group is read and written, without multimem instructions";
  }
  return info;
}

GpuPlanBackend::Layout GpuPlanBackend::layOut(const Plan& shell, const Geometry& geometry) const {
  const std::int64_t chunkBytes = checkedMul(geometry.chunkElements, geometry.elementBytes);
  Layout layout;
  layout.arenas.resize(static_cast<std::size_t>(m_gpus->count()));
  const auto take = [&](int rank, Arena arena, std::int64_t bytes) {
    std::int64_t& used = layout.arenas[m_deviceOfRank[rank]][static_cast<std::size_t>(arena)];
    const std::int64_t start = used;
    used = checkedAdd(used, checkedAdd(bytes, kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment);
    return start;
  };
  for (const int rank : localRanks()) {
    layout.buffers.push_back(layOutBuffers(shell, geometry, rank));
    layout.blocks.push_back(take(rank, Arena::buffers, layout.buffers.back().bytes));
    layout.scratch.push_back(take(rank, Arena::rings, scratchBytes(*m_plan, rank, chunkBytes)));
    layout.control.push_back(take(rank, Arena::control, m_control.wordsOf(rank) * kPlanWordBytes));
  }
  for (std::size_t device = 0; device < layout.arenas.size(); ++device) {
    layout.arenas[device][static_cast<std::size_t>(Arena::program)] = m_tableBytes[device];
  }
  return layout;
}

MemoryNeed GpuPlanBackend::need(const Plan& plan, const Geometry& geometry) const {
  MemoryNeed need{.hostBytes = m_blocks * kPlanWordBytes};
  for (const auto& arenas : layOut(plan, geometry).arenas) {
    need.deviceBytes = std::max(need.deviceBytes, std::accumulate(arenas.begin(), arenas.end(), std::int64_t{0}));
  }
  return need;
}

Outcome GpuPlanBackend::prepare(const Plan& plan, const Geometry& geometry) {
  m_isReady = false;
  if (m_loop.isLost()) {
    return Error{.code = ErrorCode::internal, .message = "a kernel of an earlier run has not finished"};
  }
  return withinMemory([&] { return tryPrepare(plan, geometry); });
}

Outcome GpuPlanBackend::tryPrepare(const Plan& shell, const Geometry& geometry) {
  const std::int64_t chunkBytes = checkedMul(geometry.chunkElements, geometry.elementBytes);
  if (Outcome whole = requireWholeChunks(*m_plan, chunkBytes); !whole) {
    return whole;
  }
  for (const mscclpp::Gpu& gpu : m_plan->gpus) {
    const std::int64_t bytes = checkedMul<std::int64_t>(chunkBytes, std::max(gpu.inputChunks, gpu.outputChunks));
    if (bytes > kMaxBufferBytes) {
      return Error{.code = ErrorCode::limit,
                   .message = "a buffer of " + std::to_string(bytes) + " bytes; MSCCL++ counts them in 32 bits",
                   .fix = "use a smaller -e"};
    }
  }
  if (Outcome loaded = load(geometry.type); !loaded) {
    return loaded;
  }
  m_layout = layOut(shell, geometry);
  if (Outcome reserved = reserve(geometry); !reserved) {
    return reserved;
  }
  if (Outcome cleaned = clean(); !cleaned) {
    return cleaned;
  }
  for (const int rank : localRanks()) {
    if (Outcome filled = writeGuards(*m_gpus, m_deviceOfRank[rank], blockOf(rank), m_layout.buffers[rank]); !filled) {
      return filled;
    }
  }
  if (Outcome written = writeTables(chunkBytes); !written) {
    return written;
  }
  m_launches = 0;
  m_isReady = true;
  return Done{};
}

Outcome GpuPlanBackend::reserve(const Geometry& geometry) {
  for (int device = 0; device < m_gpus->count(); ++device) {
    const auto& sizes = m_layout.arenas[device];
    const auto lack =
        lackOfRoom(*m_gpus, device, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), geometry.size);
    if (!lack) {
      return lack.error();
    }
    if (*lack) {
      return **lack;
    }
    // What must grow gives back its memory first.
    for (int arena = 0; arena < kArenas; ++arena) {
      if (m_gpus->memory(device, static_cast<Arena>(arena)).bytes < sizes[arena]) {
        m_gpus->release(device, static_cast<Arena>(arena));
      }
    }
    for (int arena = 0; arena < kArenas; ++arena) {
      if (Outcome reserved = m_gpus->reserve(device, static_cast<Arena>(arena), sizes[arena]); !reserved) {
        return reserved;
      }
    }
  }
  return m_gpus->reserve(Pinned::progress, m_blocks * kPlanWordBytes);
}

Outcome GpuPlanBackend::clean() {
  for (int device = 0; device < m_gpus->count(); ++device) {
    for (const Arena arena : {Arena::rings, Arena::control}) {
      if (Outcome zeroed = m_gpus->fill(device, m_gpus->memory(device, arena).data, 0,
                                        m_layout.arenas[device][static_cast<std::size_t>(arena)]);
          !zeroed) {
        return zeroed;
      }
    }
  }
  for (const int rank : localRanks()) {
    const std::vector<int>& initial = m_plan->gpus[rank].semaphores;
    for (std::size_t id = 0; id < initial.size(); ++id) {
      const auto value = static_cast<Word>(initial[id]);
      unsigned char* const word = arena(rank, Arena::control) + m_layout.control[rank] +
                                  m_control.semaphoreAt(rank, static_cast<int>(id)) * kPlanWordBytes;
      if (Outcome copied = m_gpus->copyTo(m_deviceOfRank[rank], word, &value, kPlanWordBytes); !copied) {
        return copied;
      }
    }
  }
  return Done{};
}

Outcome GpuPlanBackend::writeTables(std::int64_t chunkBytes) {
  PlanAddresses addresses;
  for (const int rank : localRanks()) {
    unsigned char* const scratch = arena(rank, Arena::rings) + m_layout.scratch[rank];
    const PlanMemory memory = memoryOf(*m_plan, rank, chunkBytes, reinterpret_cast<std::byte*>(blockOf(rank)),
                                       m_layout.buffers[rank], reinterpret_cast<std::byte*>(scratch));
    addresses.buffers.push_back({reinterpret_cast<std::uintptr_t>(memory.input),
                                 reinterpret_cast<std::uintptr_t>(memory.output),
                                 reinterpret_cast<std::uintptr_t>(memory.scratch)});
    addresses.control.push_back(reinterpret_cast<std::uintptr_t>(arena(rank, Arena::control) + m_layout.control[rank]));
  }
  m_grids.clear();
  auto* progress = reinterpret_cast<Word*>(m_gpus->memory(Pinned::progress).data);
  for (int device = 0; device < m_gpus->count(); ++device) {
    m_grids.push_back(wirePlan(*m_plan, chunkBytes, m_control, addresses, ranksOn(device)));
    const PlanGrid& grid = m_grids.back();
    unsigned char* const at = m_gpus->memory(device, Arena::program).data;
    const std::vector<unsigned char> image = grid.packed(at, progress);
    progress += grid.blocks.size();
    if (Outcome copied = m_gpus->copyTo(device, at, image.data(), static_cast<std::int64_t>(image.size())); !copied) {
      return copied;
    }
  }
  return Done{};
}

std::int64_t GpuPlanBackend::damagedGuards() {
  std::int64_t damaged = 0;
  for (const int rank : m_isReady ? localRanks() : std::vector<int>()) {
    damaged += cuda::damagedGuards(*m_gpus, m_deviceOfRank[rank], blockOf(rank), m_layout.buffers[rank]);
  }
  return damaged;
}

RunResult GpuPlanBackend::run(const RunRequest& request) {
  if (!m_isReady) {
    return unpreparedRun();
  }
  try {
    m_loop.begin();
    std::atomic_ref<Word>(*m_abortWord).store(0);
    std::fill_n(m_gpus->memory(Pinned::progress).data, m_blocks * kPlanWordBytes, static_cast<unsigned char>(0));
    const std::stop_callback onStop(request.stop, [this] { abort(); });
    RunResult result = m_loop.run(request, *this);
    m_isReady = static_cast<bool>(result);  // after a failure, signals and flags are amid a run
    return result;
  } catch (const std::bad_alloc&) {
    m_isReady = false;
    const Error error{.code = ErrorCode::limit, .message = "not enough memory for the run"};
    return RunFailure{.exit = program::exitFor(error), .error = error, .stuck = {}};
  }
}

/// As in a stream of MSCCL++: no rank waits for another one between two launches, unless the plan does.
Outcome GpuPlanBackend::launch(int slot, bool /*first*/) {
  std::vector<PlanJob> jobs;
  for (int device = 0; device < m_gpus->count(); ++device) {
    const PlanGrid& grid = m_grids[device];
    jobs.push_back({.views = grid.views(m_gpus->memory(device, Arena::program).data),
                    .count = grid.blocks.size(),
                    .threads = m_threads});
  }
  return m_gpus->launch(slot, true, m_type, jobs,
                        {.abort = m_abortWord, .flag = ++m_launches, .isSystemWide = m_gpus->count() > 1});
}

ProgressWords GpuPlanBackend::progress() const {
  ProgressWords words;
  auto* next = reinterpret_cast<Word*>(m_gpus->memory(Pinned::progress).data);
  for (const PlanGrid& grid : m_grids) {
    std::vector<Word>& own = words.emplace_back();
    for (std::size_t block = 0; block < grid.blocks.size(); ++block) {
      own.push_back(std::atomic_ref<Word>(*next++).load());
    }
  }
  return words;
}

program::StuckRecord GpuPlanBackend::explain(bool isDeadlock) const {
  const ProgressWords words = progress();
  for (std::size_t device = 0; device < m_grids.size(); ++device) {
    const PlanGrid& grid = m_grids[device];
    for (std::size_t block = 0; block < grid.blocks.size(); ++block) {
      const Word word = words[device][block];
      if (isWaiting(stateOf(word)) && stepOf(word) < grid.blocks[block].opCount) {
        const std::string text =
            "nothing moves: " + waitText(*m_plan, grid.places[grid.blocks[block].firstOp + stepOf(word)]);
        return {.isDeadlock = isDeadlock, .text = text};
      }
    }
  }
  return {.isDeadlock = isDeadlock, .text = "nothing moves, and no threadblock says what it waits for"};
}

}  // namespace

Result<std::unique_ptr<Backend>> makeGpuPlanBackend(std::unique_ptr<Gpus> gpus,
                                                    std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                    const Tuning& tuning) {
  return openedBackend<GpuPlanBackend>([](GpuPlanBackend& made) { return made.open(); }, std::move(gpus),
                                       std::move(plan), tuning);
}

}  // namespace coppice::executor::cuda
