// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/checked.hpp"
#include "cuda/device.hpp"
#include "cuda/kernels.hpp"
#include "cuda/pack.hpp"
#include "cuda/progress.hpp"
#include "cuda/runtime.hpp"
#include "cuda/shape.hpp"
#include "cuda/wiring.hpp"
#include "engine/backend.hpp"
#include "engine/buffers.hpp"

namespace coppice::executor::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using program::RunExit;

constexpr std::int64_t kAlignment = 512;
constexpr int kGuardValue = 0xC5;
constexpr std::int64_t kTraceBytes = std::int64_t{64} << 20;  // on a device
constexpr double kDeadlockSeconds = 2;
constexpr double kStopSeconds = 10;  // for the blocks to see an abort
constexpr auto kShortPause = std::chrono::microseconds(20);
constexpr auto kLook = std::chrono::milliseconds(20);

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return checkedAdd(value, unit - 1) / unit * unit;
}

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// What a run takes of each place, in bytes.
struct Sizes {
  std::vector<std::int64_t> buffers;  ///< by device
  std::vector<std::int64_t> program;  ///< by device: operations, then views
  std::vector<std::int64_t> rings;    ///< by place
  std::vector<std::int64_t> progress;
  std::int64_t control = 0;
  std::int64_t opBytes = 0;

  [[nodiscard]] std::int64_t onDevice(std::size_t device) const {
    return checkedAdd(checkedAdd(buffers[device], rings[device]), checkedAdd(program[device], control));
  }
};

Sizes sizesOf(const Plan& plan, const PackedPlan& packed, const Placement& placement, const RunView& run) {
  Sizes sizes;
  const auto devices = static_cast<std::size_t>(placement.devices);
  sizes.buffers.assign(devices, 0);
  sizes.opBytes = roundUp(static_cast<std::int64_t>(packed.ops.size() * sizeof(PackedOp)), kAlignment);
  sizes.control = checkedMul(layOutControl(plan, static_cast<int>(run.depth)).strandWords,
                             checkedMul(std::int64_t{run.strands}, static_cast<std::int64_t>(sizeof(Word))));
  for (const std::int64_t blocks : blocksOnDevices(plan, placement.deviceOfRank, placement.devices)) {
    const std::int64_t views = blocks * run.strands;
    sizes.program.push_back(sizes.opBytes + checkedMul(views, static_cast<std::int64_t>(sizeof(BlockView))));
    sizes.progress.push_back(checkedMul(views, static_cast<std::int64_t>(sizeof(Word))));
  }
  for (const std::int64_t rings : placement.ringsAt) {
    sizes.rings.push_back(
        checkedMul(checkedMul(rings, std::int64_t{run.strands}), checkedMul(std::int64_t{run.depth}, run.slotStride)));
  }
  return sizes;
}

std::string gigabytes(std::int64_t bytes) {
  const std::int64_t hundredths = bytes / 10'000'000;
  return std::to_string(hundredths / 100) + "." + (hundredths % 100 < 10 ? "0" : "") +
         std::to_string(hundredths % 100) + " GB";
}

class CudaBackend : public Backend {
public:
  /// Opens the devices. Errors: those of Device::open, unavailable.
  static Result<std::unique_ptr<Backend>> open(const BackendOptions& options, int first, int count);
  ~CudaBackend() override;

  BackendInfo info() const override;
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override;
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override;
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override;
  RankBuffers buffers(int /*rank*/) override { return {}; }
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) override;
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) override;
  std::int64_t damagedGuards() override;
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override;
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override;
  double measureMemory(std::stop_token stop) override;

private:
  explicit CudaBackend(int ranks) : m_ranks(ranks) {}

  /// A plan laid out for a number of strands.
  struct Layout {
    Placement placement;
    PackedPlan packed;
    RunView run;
    int threads = 0;
    Sizes sizes;
  };
  Result<Layout> layOut(const Plan& plan, const Geometry& geometry, int mostStrands) const;
  Result<Layout> layOutWithin(const Plan& plan, const Geometry& geometry);
  Outcome tryPrepare(const Plan& plan, const Geometry& geometry);
  Outcome reserve(const Sizes& sizes);
  Outcome placeBuffers();
  Outcome wireUp(bool traces);
  Outcome beginTrace();
  Outcome launch(int slot, bool isFirst, const RunRequest& request, const RunView& view);
  Outcome divide(Device& device);
  /// Waits for the batch. @return why it failed
  std::optional<RunFailure> wait(int launched, const RunRequest& request);
  Result<bool> isDone(int launched);
  Outcome addTimes(int launched, RunTimes& times);
  [[nodiscard]] ProgressWords progressNow() const;
  void setAbort(Word value) noexcept;
  Device& deviceOf(int rank) {
    return *m_devices[static_cast<std::size_t>(m_layout->placement.deviceOfRank[static_cast<std::size_t>(rank)])];
  }
  unsigned char* place(int rank, BufferKind kind) {
    return m_addresses.base[static_cast<std::size_t>(rank)][kind == BufferKind::input ? 0 : 1];
  }

  int m_ranks;
  std::vector<std::unique_ptr<Device>> m_devices;
  std::vector<DeviceRoom> m_rooms;
  Reach m_reach;
  PinnedMemory m_abortMemory;
  PinnedMemory m_hostControl;
  PinnedMemory m_hostRings;

  const Plan* m_plan = nullptr;
  Geometry m_geometry;
  Script m_script;
  std::optional<Layout> m_layout;  ///< absent = not prepared
  std::vector<BufferLayout> m_bufferLayouts;
  std::vector<unsigned char*> m_blocks;  ///< by rank
  Addresses m_addresses;
  std::vector<Grid> m_grids;
  bool m_isTracing = false;
  Word m_tilesBefore = 0;
  std::atomic<bool> m_isAborted = false;
  std::atomic<Word*> m_abortWord = nullptr;
  bool m_isLost = false;
};

Result<std::unique_ptr<Backend>> CudaBackend::open(const BackendOptions& options, int first, int count) {
  auto backend = std::unique_ptr<CudaBackend>(new CudaBackend(options.ranks));
  for (int index = 0; index < count; ++index) {
    auto device = Device::open(first + index);
    if (!device) {
      return device.error();
    }
    backend->m_devices.push_back(*std::move(device));
    // For the choice of pieces; prepare asks again for the type at hand.
    const auto room = backend->m_devices.back()->load(static_cast<int>(DataType::float32));
    if (!room) {
      return room.error();
    }
    backend->m_rooms.push_back(*room);
  }
  for (const auto& from : backend->m_devices) {
    std::vector<bool>& row = backend->m_reach.emplace_back();
    for (const auto& to : backend->m_devices) {
      int can = from == to ? 1 : 0;
      if (from != to && from->use() && cudaDeviceCanAccessPeer(&can, from->id, to->id) == cudaSuccess && can != 0) {
        const cudaError_t enabled = cudaDeviceEnablePeerAccess(to->id, 0);
        can = enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled ? 1 : 0;
        cudaGetLastError();
      }
      row.push_back(can != 0);
    }
  }
  if (const Outcome reserved = backend->m_abortMemory.reserve(static_cast<std::int64_t>(sizeof(Word))); !reserved) {
    return reserved.error();
  }
  backend->m_abortWord = reinterpret_cast<Word*>(backend->m_abortMemory.data());
  backend->setAbort(0);
  return std::unique_ptr<Backend>(std::move(backend));
}

CudaBackend::~CudaBackend() {
  m_abortWord = nullptr;
  if (m_isLost) {
    for (const auto& device : m_devices) {
      device->forget();
    }
    m_abortMemory.forget();
    m_hostControl.forget();
    m_hostRings.forget();
  }
}

BackendInfo CudaBackend::info() const {
  const auto devices = static_cast<int>(m_devices.size());
  BackendInfo info = {
      .name = "cuda",
      .summary = std::to_string(m_ranks) + " ranks on " + std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs")};
  if (m_ranks > devices) {
    info.label = "rehearsal: correctness, not bandwidth";
  }
  for (const auto& device : m_devices) {
    info.facts["GPU " + std::to_string(device->id)] = device->name + ", compute capability " +
                                                      std::to_string(device->capability / 10) + "." +
                                                      std::to_string(device->capability % 10);
  }
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess) {
    info.facts["CUDA driver"] = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  }
  info.facts["CUDA runtime"] = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  info.facts["half and bfloat16"] = "reduced in float at each step";
  const bool allReach = std::all_of(m_reach.begin(), m_reach.end(), [](const std::vector<bool>& row) {
    return std::find(row.begin(), row.end(), false) == row.end();
  });
  if (devices > 1) {
    info.facts["between GPUs"] =
        allReach ? "peer access" : "host memory where peer access is missing, peer access elsewhere";
  }
  return info;
}

Result<CudaBackend::Layout> CudaBackend::layOut(const Plan& plan, const Geometry& geometry, int mostStrands) const {
  const auto devices = static_cast<int>(m_devices.size());
  Layout layout;
  layout.placement = placeConnections(plan, spreadRanks(plan.rankCount(), devices), m_reach);
  auto packed = packPlan(plan, layout.placement.canPull);
  if (!packed) {
    return packed.error();
  }
  layout.packed = *std::move(packed);
  placeRings(layout.packed, layout.placement);
  const auto shape = chooseShape(blocksOnDevices(plan, layout.placement.deviceOfRank, devices), m_rooms,
                                 std::min<std::int64_t>(geometry.tiles, mostStrands));
  if (!shape) {
    return shape.error();
  }
  layout.threads = shape->threads;
  const auto run = makeRunView(plan, geometry, ReduceOp::sum, shape->strands);
  if (!run) {
    return run.error();
  }
  layout.run = *run;
  layout.run.isSystemWide = devices > 1;
  layout.sizes = sizesOf(plan, layout.packed, layout.placement, layout.run);
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    std::int64_t& bytes =
        layout.sizes.buffers[static_cast<std::size_t>(layout.placement.deviceOfRank[static_cast<std::size_t>(rank)])];
    bytes = checkedAdd(bytes, layOutBuffers(plan, geometry, rank).bytes);
  }
  return layout;
}

/// With fewer strands where their slots would not fit.
Result<CudaBackend::Layout> CudaBackend::layOutWithin(const Plan& plan, const Geometry& geometry) {
  int strands = std::numeric_limits<int>::max();
  while (true) {
    auto layout = layOut(plan, geometry, strands);
    if (!layout) {
      return layout;
    }
    strands = static_cast<int>(layout->run.strands);
    std::optional<Error> lacking;
    for (std::size_t device = 0; device < m_devices.size() && !lacking; ++device) {
      const auto available = m_devices[device]->available();
      if (!available) {
        return available.error();
      }
      const std::int64_t needed = layout->sizes.onDevice(device);
      if (needed > *available) {
        lacking =
            Error{.code = ErrorCode::limit,
                  .message = "size " + std::to_string(geometry.size) + " needs " + gigabytes(needed) + " on GPU " +
                             std::to_string(m_devices[device]->id) + ", and " + gigabytes(*available) + " are free",
                  .fix = "use a smaller -e, or fewer ranks on a GPU"};
      }
    }
    if (!lacking) {
      return layout;
    }
    if (strands == 1) {
      return *std::move(lacking);
    }
    strands /= 2;
  }
}

MemoryNeed CudaBackend::need(const Plan& plan, const Geometry& geometry) const {
  const auto layout = layOut(plan, geometry, 1);
  if (!layout) {
    return {};  // prepare says why
  }
  MemoryNeed need;
  for (std::size_t device = 0; device < m_devices.size(); ++device) {
    need.deviceBytes = std::max(need.deviceBytes, layout->sizes.onDevice(device));
    need.hostBytes = checkedAdd(need.hostBytes, layout->sizes.progress[device]);
  }
  need.hostBytes = checkedAdd(need.hostBytes, layout->sizes.rings.back());
  return need;
}

std::int64_t CudaBackend::pieceBytes(const Plan& plan, DataType /*type*/, std::int64_t bytes) const {
  const auto devices = static_cast<int>(m_devices.size());
  const auto shape = chooseShape(blocksOnDevices(plan, spreadRanks(plan.rankCount(), devices), devices), m_rooms,
                                 std::numeric_limits<std::int64_t>::max());
  return choosePiece(plan, bytes, shape ? shape->strands : 1);
}

Outcome CudaBackend::prepare(const Plan& plan, const Geometry& geometry) {
  m_layout.reset();
  if (m_isLost) {
    return Error{.code = ErrorCode::internal, .message = "a kernel of an earlier run did not end"};
  }
  try {
    const Outcome prepared = tryPrepare(plan, geometry);
    if (!prepared) {
      m_layout.reset();
    }
    return prepared;
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory to prepare the run"};
  } catch (const OverflowError&) {
    return Error{.code = ErrorCode::limit, .message = "the run needs more memory than there are addresses"};
  }
}

Outcome CudaBackend::tryPrepare(const Plan& plan, const Geometry& geometry) {
  m_plan = &plan;
  m_geometry = geometry;
  m_script = makeScript(plan, geometry, true);
  for (std::size_t device = 0; device < m_devices.size(); ++device) {
    const auto room = m_devices[device]->load(static_cast<int>(geometry.type));
    if (!room) {
      return room.error();
    }
    m_rooms[device] = *room;
  }
  auto layout = layOutWithin(plan, geometry);
  if (!layout) {
    return layout.error();
  }
  m_layout = *std::move(layout);
  m_tilesBefore = 0;
  if (Outcome reserved = reserve(m_layout->sizes); !reserved) {
    return reserved;
  }
  if (Outcome placed = placeBuffers(); !placed) {
    return placed;
  }
  return wireUp(false);
}

Outcome CudaBackend::reserve(const Sizes& sizes) {
  m_addresses = {};
  // What must grow gives back its memory first, so that old and new need not fit together.
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    Device& device = *m_devices[index];
    device.trace.release();
    const std::pair<DeviceMemory*, std::int64_t> arenas[] = {{&device.buffers, sizes.buffers[index]},
                                                             {&device.slotRings, sizes.rings[index]},
                                                             {&device.control, sizes.control},
                                                             {&device.program, sizes.program[index]}};
    for (const auto& [arena, bytes] : arenas) {
      if (arena->bytes() < bytes) {
        arena->release();
      }
    }
    for (const auto& [arena, bytes] : arenas) {
      if (Outcome reserved = arena->reserve(bytes); !reserved) {
        return reserved;
      }
    }
    if (Outcome reserved = device.progress.reserve(sizes.progress[index]); !reserved) {
      return reserved;
    }
    if (Outcome zeroed = device.fill(device.control.data(), 0, sizes.control); !zeroed) {
      return zeroed;
    }
    if (Outcome copied = device.copyTo(device.program.data(), m_layout->packed.ops.data(),
                                       static_cast<std::int64_t>(m_layout->packed.ops.size() * sizeof(PackedOp)));
        !copied) {
      return copied;
    }
    m_addresses.control.push_back(reinterpret_cast<Word*>(device.control.data()));
    m_addresses.rings.push_back(device.slotRings.data());
    m_addresses.ops.push_back(reinterpret_cast<const PackedOp*>(device.program.data()));
    m_addresses.progress.push_back(reinterpret_cast<Word*>(device.progress.data()));
    m_addresses.trace.push_back(nullptr);
  }
  const Placement& placement = m_layout->placement;
  const bool usesHost =
      std::find(placement.dataPlace.begin(), placement.dataPlace.end(), placement.host()) != placement.dataPlace.end();
  if (usesHost) {
    if (Outcome reserved = m_hostControl.reserve(sizes.control); !reserved) {
      return reserved;
    }
    if (Outcome reserved = m_hostRings.reserve(sizes.rings.back()); !reserved) {
      return reserved;
    }
    std::fill_n(m_hostControl.data(), sizes.control, static_cast<unsigned char>(0));
  }
  m_addresses.control.push_back(reinterpret_cast<Word*>(m_hostControl.data()));
  m_addresses.rings.push_back(m_hostRings.data());
  return Done{};
}

Outcome CudaBackend::placeBuffers() {
  m_bufferLayouts.clear();
  m_blocks.clear();
  std::vector<std::int64_t> used(m_devices.size(), 0);
  for (int rank = 0; rank < m_plan->rankCount(); ++rank) {
    Device& device = deviceOf(rank);
    std::int64_t& begin =
        used[static_cast<std::size_t>(m_layout->placement.deviceOfRank[static_cast<std::size_t>(rank)])];
    const BufferLayout& layout = m_bufferLayouts.emplace_back(layOutBuffers(*m_plan, m_geometry, rank));
    unsigned char* block = device.buffers.data() + begin;
    begin += layout.bytes;
    m_blocks.push_back(block);
    m_addresses.base.push_back({block + layout.input, block + layout.output, block + layout.scratch});
    for (const Range& guard : layout.guards) {
      if (Outcome filled = device.fill(block + guard.begin, kGuardValue, guard.size()); !filled) {
        return filled;
      }
    }
  }
  return Done{};
}

/// Gives the blocks their views.
Outcome CudaBackend::wireUp(bool traces) {
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    m_addresses.trace[index] =
        traces ? reinterpret_cast<TraceSlot*>(m_devices[index]->trace.data()) : static_cast<TraceSlot*>(nullptr);
  }
  m_grids = wire(*m_plan, m_layout->packed, m_layout->placement, m_layout->run, m_addresses);
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    const std::vector<BlockView>& views = m_grids[index].views;
    if (Outcome copied =
            m_devices[index]->copyTo(m_devices[index]->program.data() + m_layout->sizes.opBytes, views.data(),
                                     static_cast<std::int64_t>(views.size() * sizeof(BlockView)));
        !copied) {
      return copied;
    }
  }
  m_isTracing = traces;
  return Done{};
}

/// Room for events, made with the first traced run, and counts of events set back.
Outcome CudaBackend::beginTrace() {
  if (!m_isTracing) {
    std::int64_t most = 1;  // blocks on a device
    for (const Grid& grid : m_grids) {
      most = std::max(most, static_cast<std::int64_t>(grid.views.size()));
    }
    const std::int64_t room =
        std::max<std::int64_t>(16, kTraceBytes / static_cast<std::int64_t>(sizeof(TraceSlot)) / most);
    m_addresses.traceRoom = static_cast<std::uint32_t>(room);
    for (std::size_t index = 0; index < m_devices.size(); ++index) {
      const auto views = static_cast<std::int64_t>(m_grids[index].views.size());
      if (Outcome reserved =
              m_devices[index]->trace.reserve(views * room * static_cast<std::int64_t>(sizeof(TraceSlot)));
          !reserved) {
        return reserved;
      }
    }
    if (Outcome wired = wireUp(true); !wired) {
      return wired;
    }
  }
  const ControlLayout layout = layOutControl(*m_plan, m_geometry.depth);
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    Device& device = *m_devices[index];
    if (Outcome used = device.use(); !used) {
      return used;
    }
    for (std::int64_t strand = 0; strand < m_layout->run.strands; ++strand) {
      Word* counts = m_addresses.control[index] + strand * layout.strandWords + layout.counters + kTraced;
      if (Outcome zeroed = checked(cudaMemset2DAsync(counts, kCounters * sizeof(Word), 0, sizeof(Word),
                                                     m_plan->blocks.size(), device.stream),
                                   "counts of events");
          !zeroed) {
        return zeroed;
      }
    }
  }
  return Done{};
}

std::vector<int> CudaBackend::localRanks() const {
  std::vector<int> ranks(static_cast<std::size_t>(m_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Outcome CudaBackend::write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) {
  if (!m_layout) {
    return Error{.message = "data before the preparation"};
  }
  return deviceOf(rank).copyTo(place(rank, kind) + offset, data.data(), static_cast<std::int64_t>(data.size()));
}

Outcome CudaBackend::read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) {
  if (!m_layout) {
    return Error{.message = "data before the preparation"};
  }
  return deviceOf(rank).copyFrom(data.data(), place(rank, kind) + offset, static_cast<std::int64_t>(data.size()));
}

std::int64_t CudaBackend::damagedGuards() {
  if (!m_layout) {
    return 0;
  }
  std::int64_t damaged = 0;
  std::vector<unsigned char> bytes;
  for (std::size_t rank = 0; rank < m_bufferLayouts.size(); ++rank) {
    for (const Range& guard : m_bufferLayouts[rank].guards) {
      bytes.assign(static_cast<std::size_t>(guard.size()), 0);  // what cannot be read counts as damaged
      (void)deviceOf(static_cast<int>(rank)).copyFrom(bytes.data(), m_blocks[rank] + guard.begin, guard.size());
      damaged += guard.size() - std::count(bytes.begin(), bytes.end(), static_cast<unsigned char>(kGuardValue));
    }
  }
  return damaged;
}

void CudaBackend::setAbort(Word value) noexcept {
  if (Word* word = m_abortWord) {
    std::atomic_ref<Word>(*word).store(value);
  }
}

void CudaBackend::abort() noexcept {
  m_isAborted = true;
  setAbort(1);
}

ProgressWords CudaBackend::progressNow() const {
  ProgressWords words;
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    Word* progress = m_addresses.progress[index];
    std::vector<Word>& own = words.emplace_back(m_grids[index].views.size());
    for (std::size_t view = 0; view < own.size(); ++view) {
      own[view] = std::atomic_ref<Word>(progress[view]).load();
    }
  }
  return words;
}

RunResult CudaBackend::run(const RunRequest& request) {
  const auto failed = [this](const Error& error) {
    m_layout.reset();  // counters are amid a run; prepare makes new ones
    return RunFailure{.exit = program::exitFor(error), .error = error, .stuck = {}};
  };
  if (!m_layout) {
    return RunFailure{.error = {.message = "a run before its preparation"}, .stuck = {}};
  }
  try {
    m_isAborted = false;
    setAbort(0);
    const std::stop_callback onStop(request.stop, [this] { abort(); });
    for (std::size_t index = 0; index < m_devices.size(); ++index) {
      std::fill_n(m_devices[index]->progress.data(), m_layout->sizes.progress[index], static_cast<unsigned char>(0));
    }
    if (request.trace) {
      if (const Outcome begun = beginTrace(); !begun) {
        return failed(begun.error());
      }
    }
    RunView view = m_layout->run;
    view.abort = m_abortWord;
    view.combine = request.op == ReduceOp::avg ? Combine::sum : static_cast<Combine>(request.op);
    view.traces = request.trace;
    RunTimes times;
    for (int done = 0; done < request.iterations;) {
      const int launched = std::min(kBatch, request.iterations - done);
      for (int slot = 0; slot < launched; ++slot) {
        view.tilesBefore = m_tilesBefore;
        if (const Outcome under = launch(slot, slot == 0, request, view); !under) {
          abort();  // of what was launched before
          if (auto failure = wait(slot, request); failure && m_isLost) {
            return *std::move(failure);
          }
          return failed(under.error());
        }
        m_tilesBefore += static_cast<Word>(view.tiles);
      }
      if (auto failure = wait(launched, request)) {
        m_layout.reset();
        return *std::move(failure);
      }
      if (const Outcome added = addTimes(launched, times); !added) {
        return failed(added.error());
      }
      done += launched;
    }
    return times;
  } catch (const std::bad_alloc&) {
    return failed({.code = ErrorCode::limit, .message = "not enough memory for the run"});
  }
}

/// One iteration on all devices. An iteration begins when the one before has ended everywhere.
Outcome CudaBackend::launch(int slot, bool isFirst, const RunRequest& request, const RunView& view) {
  const auto at = static_cast<std::size_t>(slot);
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    Device& device = *m_devices[index];
    const Grid& grid = m_grids[index];
    const std::string doing = "launch on GPU " + std::to_string(device.id);
    if (Outcome used = device.use(); !used) {
      return used;
    }
    for (const auto& other : m_devices) {
      if (!isFirst && other.get() != &device) {
        if (Outcome waits = checked(cudaStreamWaitEvent(device.stream, other->ends[at - 1], 0), doing); !waits) {
          return waits;
        }
      }
    }
    if (Outcome recorded = checked(cudaEventRecord(device.starts[at], device.stream), doing); !recorded) {
      return recorded;
    }
    if (!grid.views.empty()) {
      const auto* views = reinterpret_cast<const BlockView*>(device.program.data() + m_layout->sizes.opBytes);
      RunView run = view;
      void* arguments[] = {&views, &run};
      const Kernels kernels = kernelsOf(static_cast<int>(m_geometry.type));
      if (Outcome launched = checked(
              cudaLaunchCooperativeKernel(kernels.interpret, dim3(static_cast<unsigned>(grid.views.size())),
                                          dim3(static_cast<unsigned>(m_layout->threads)), arguments, 0, device.stream),
              doing + " of " + std::to_string(grid.views.size()) + " blocks of " + std::to_string(m_layout->threads) +
                  " threads");
          !launched) {
        return launched;
      }
    }
    if (request.op == ReduceOp::avg && reduces(m_plan->operation)) {
      if (Outcome divided = divide(device); !divided) {
        return divided;
      }
    }
    if (Outcome recorded = checked(cudaEventRecord(device.ends[at], device.stream), doing); !recorded) {
      return recorded;
    }
  }
  return Done{};
}

/// The end of avg, on every rank of the device that has a result.
Outcome CudaBackend::divide(Device& device) {
  constexpr unsigned kThreads = 256;
  constexpr std::int64_t kMostBlocks = 1024;
  long long elements = m_geometry.outputElements;
  for (int rank = 0; rank < m_ranks && elements > 0; ++rank) {
    if (&deviceOf(rank) != &device || (isRooted(m_plan->operation) && rank != m_plan->root)) {
      continue;
    }
    unsigned char* data = place(rank, BufferKind::output);
    int divisor = m_ranks;
    void* arguments[] = {&data, &elements, &divisor};
    const std::int64_t blocks = std::min<std::int64_t>(kMostBlocks, (elements + kThreads - 1) / kThreads);
    if (Outcome launched =
            checked(cudaLaunchKernel(kernelsOf(static_cast<int>(m_geometry.type)).divide,
                                     dim3(static_cast<unsigned>(blocks)), dim3(kThreads), arguments, 0, device.stream),
                    "launch on GPU " + std::to_string(device.id));
        !launched) {
      return launched;
    }
  }
  return Done{};
}

Result<bool> CudaBackend::isDone(int launched) {
  for (const auto& device : m_devices) {
    if (launched == 0) {
      continue;
    }
    const cudaError_t state = cudaEventQuery(device->ends[static_cast<std::size_t>(launched - 1)]);
    if (state == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    if (const Outcome fine = checked(state, "run on GPU " + std::to_string(device->id)); !fine) {
      return fine.error();
    }
  }
  return true;
}

std::optional<RunFailure> CudaBackend::wait(int launched, const RunRequest& request) {
  StallWatch watch(request.stallSeconds, kDeadlockSeconds);
  std::optional<RunFailure> failure;
  std::optional<Clock::time_point> stopped;
  Clock::time_point looked = Clock::now();
  while (true) {
    const auto done = isDone(launched);
    if (!done) {
      return RunFailure{.exit = RunExit::internal, .error = done.error(), .stuck = {}};
    }
    const Clock::time_point now = Clock::now();
    if (*done) {
      break;
    }
    if (now - looked >= kLook) {
      looked = now;
      const ProgressWords words = progressNow();
      const auto verdict = watch.look(words, seconds(now.time_since_epoch()));
      if (verdict != StallWatch::Verdict::moves && !stopped && !m_isAborted) {
        program::StuckRecord stuck =
            explain(*m_plan, m_script, m_grids, words, verdict == StallWatch::Verdict::deadlock);
        failure = RunFailure{.exit = RunExit::hang,
                             .error = {.code = ErrorCode::verification, .message = stuck.text},
                             .stuck = std::move(stuck)};
        setAbort(1);
      }
      if ((failure || m_isAborted) && !stopped) {
        stopped = now;
      }
      if (stopped && seconds(now - *stopped) > kStopSeconds) {
        m_isLost = true;
        return RunFailure{.exit = RunExit::internal,
                          .error = {.code = ErrorCode::internal,
                                    .message = "the kernel did not end within " +
                                               std::to_string(static_cast<int>(kStopSeconds)) + " s of being stopped",
                                    .fix = "look at the system log for errors of the GPU"},
                          .stuck = {}};
      }
    }
    std::this_thread::sleep_for(kShortPause);
  }
  if (!failure && m_isAborted) {
    failure = RunFailure{.exit = RunExit::cancelled,
                         .error = {.code = ErrorCode::cancelled, .message = "the run was stopped"},
                         .stuck = {}};
  }
  return failure;
}

Outcome CudaBackend::addTimes(int launched, RunTimes& times) {
  double total = 0;
  const std::size_t first = times.seconds.size();
  times.seconds.resize(first + static_cast<std::size_t>(launched), 0);
  for (const auto& device : m_devices) {
    float milliseconds = 0;
    for (int slot = 0; slot < launched; ++slot) {
      const auto at = static_cast<std::size_t>(slot);
      if (Outcome timed = checked(cudaEventElapsedTime(&milliseconds, device->starts[at], device->ends[at]), "timing");
          !timed) {
        return timed;
      }
      double& slowest = times.seconds[first + at];
      slowest = std::max(slowest, static_cast<double>(milliseconds) * 1e-3);
    }
    const auto last = static_cast<std::size_t>(launched - 1);
    if (Outcome timed = checked(cudaEventElapsedTime(&milliseconds, device->starts[0], device->ends[last]), "timing");
        !timed) {
      return timed;
    }
    total = std::max(total, static_cast<double>(milliseconds) * 1e-3);
  }
  times.total += total;
  return Done{};
}

/// Clocks of different GPUs are not aligned: each device's events count from its first one.
std::vector<program::TraceEvent> CudaBackend::takeTrace(std::int64_t& dropped) {
  std::vector<program::TraceEvent> events;
  dropped = 0;
  if (!m_layout || !m_isTracing) {
    return events;
  }
  const ControlLayout layout = layOutControl(*m_plan, m_geometry.depth);
  std::vector<Word> control(static_cast<std::size_t>(layout.strandWords * m_layout->run.strands));
  for (std::size_t index = 0; index < m_devices.size(); ++index) {
    Device& device = *m_devices[index];
    const Grid& grid = m_grids[index];
    std::vector<TraceSlot> slots(grid.views.size() * m_addresses.traceRoom);
    if (!device.copyFrom(control.data(), device.control.data(), m_layout->sizes.control) ||
        !device.copyFrom(slots.data(), device.trace.data(),
                         static_cast<std::int64_t>(slots.size() * sizeof(TraceSlot)))) {
      continue;
    }
    const std::size_t begin = events.size();
    Word origin = std::numeric_limits<Word>::max();
    for (std::size_t view = 0; view < grid.views.size(); ++view) {
      const int number = grid.blocks[view % grid.blocks.size()];
      const PlanBlock& block = m_plan->blocks[static_cast<std::size_t>(number)];
      const auto strand = static_cast<std::int64_t>(view / grid.blocks.size());
      const Word traced = control[static_cast<std::size_t>(strand * layout.strandWords + layout.counters +
                                                           std::int64_t{kCounters} * number + kTraced)];
      const Word kept = std::min<Word>(traced, m_addresses.traceRoom);
      dropped += static_cast<std::int64_t>(traced - kept);
      for (Word event = 0; event < kept; ++event) {
        const TraceSlot& slot = slots[view * m_addresses.traceRoom + event];
        origin = std::min(origin, slot.start);
        events.push_back({.rank = block.rank,
                          .threadBlock = block.id,
                          .step = static_cast<int>(slot.step),
                          .tile = static_cast<int>(slot.tile),
                          .start_ns = static_cast<std::int64_t>(slot.start),
                          .end_ns = static_cast<std::int64_t>(slot.end)});
      }
    }
    for (std::size_t event = begin; event < events.size(); ++event) {
      events[event].start_ns -= static_cast<std::int64_t>(origin);
      events[event].end_ns -= static_cast<std::int64_t>(origin);
    }
  }
  return events;
}

double CudaBackend::measureMemory(std::stop_token stop) {
  double all = 0;
  for (const auto& device : m_devices) {
    if (stop.stop_requested()) {
      return 0;
    }
    all += device->measureCopies();
  }
  return all;
}

/// GPUs that this process may use. Errors: unavailable, saying why there are none.
Result<int> countDevices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "no NVIDIA driver is installed (libcuda.so.1 is missing)",
                 .fix = "install the driver, or use --backend threads"};
  }
  if (error == cudaErrorInsufficientDriver) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "the NVIDIA driver knows CUDA " + std::to_string(driver / 1000) + "." +
                            std::to_string(driver % 1000 / 10) + ", and this build needs " +
                            std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10),
                 .fix = "install a newer driver, or build with an older CUDA toolkit"};
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "there is an NVIDIA driver, but no GPU that this process may use",
                 .fix = "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use --backend threads"};
  }
  if (error != cudaSuccess) {
    return describeCuda(error, "GPUs of this machine");
  }
  return count;
}

program::BackendNote probe() {
  program::BackendNote note = {.name = "cuda"};
  const auto count = countDevices();
  if (!count) {
    note.reason = count.error().message;
    note.fix = count.error().fix;
    return note;
  }
  note.available = true;
  cudaDeviceProp properties = {};
  note.reason = std::to_string(*count) + (*count == 1 ? " GPU" : " GPUs");
  if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
    note.reason += std::string(*count == 1 ? ": " : ", the first: ") + properties.name;
  }
  return note;
}

int ranks(const BackendOptions& options) {
  const auto count = countDevices();
  return count ? std::max(0, *count - std::max(0, options.device)) : 0;
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  const auto count = countDevices();
  if (!count) {
    return count.error();
  }
  const int first = std::max(0, options.device);
  if (first >= *count) {
    return Error{
        .code = ErrorCode::badUsage,
        .message = "there is no GPU " + std::to_string(first) + "; this process may use " + std::to_string(*count),
        .fix = "count them from 0"};
  }
  const int here = *count - first;
  if (options.ranks > here && !options.virtualRanks) {
    return Error{.code = ErrorCode::unavailable,
                 .message = std::to_string(options.ranks) + " ranks, and " + std::to_string(here) +
                            (here == 1 ? " GPU" : " GPUs") +
                            (first > 0 ? " from number " + std::to_string(first) + " on" : ""),
                 .fix = "--virtual lets ranks share GPUs: a rehearsal, which shows correctness, not bandwidth"};
  }
  const int used = std::min(here, std::max(1, options.ranks));
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (used > 1 && blocking != nullptr && std::string_view(blocking) == "1") {
    return Error{.code = ErrorCode::unavailable,
                 .message = "CUDA_LAUNCH_BLOCKING=1 makes each GPU wait for the one before, and they need each other",
                 .fix = "unset it, or use one GPU"};
  }
  try {
    return CudaBackend::open(options, first, used);
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory for the GPU backend"};
  }
}

}  // namespace
}  // namespace coppice::executor::cuda

extern "C" __attribute__((visibility("default"))) const coppice::executor::BackendKind* coppiceBackend(int abi) {
  static const coppice::executor::BackendKind kind = {.name = "cuda",
                                                      .probe = &coppice::executor::cuda::probe,
                                                      .create = &coppice::executor::cuda::create,
                                                      .ranks = &coppice::executor::cuda::ranks};
  return abi == coppice::executor::kBackendAbi ? &kind : nullptr;
}
