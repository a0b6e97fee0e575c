// SPDX-License-Identifier: Apache-2.0
#include "cuda/station.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "cuda/device_buffers.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr std::int64_t kAlignment = 512;
constexpr std::int64_t kTraceBytes = std::int64_t{64} << 20;  // on a device
constexpr std::int64_t kWordBytes = sizeof(Word);

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return checkedAdd(value, unit - 1) / unit * unit;
}

std::size_t at(Arena arena) {
  return static_cast<std::size_t>(arena);
}

}  // namespace

std::int64_t Station::Sizes::onDevice(std::size_t device) const {
  std::int64_t bytes = 0;
  for (const std::int64_t arena : arenas[device]) {
    bytes = checkedAdd(bytes, arena);
  }
  return bytes;
}

std::int64_t Station::Sizes::onFullestDevice() const {
  std::int64_t most = 0;
  for (std::size_t device = 0; device < arenas.size(); ++device) {
    most = std::max(most, onDevice(device));
  }
  return most;
}

// ---- room

Outcome Station::load(DataType type) {
  m_rooms.clear();
  for (int device = 0; device < m_gpus.count(); ++device) {
    const auto room = m_gpus.load(device, type, KernelKind::programs);
    if (!room) {
      return room.error();
    }
    m_rooms.push_back(*room);
    const auto index = static_cast<std::size_t>(device);
    if (index < m_shares.size() && m_shares[index] > 1) {
      m_rooms.back().multiprocessors /= m_shares[index];
    }
  }
  return Done{};
}

void Station::join(Crew crew, int process, std::int64_t unit) {
  m_crew = std::move(crew);
  m_process = process;
  m_unit = unit;
  const auto first = std::find(m_crew.processOfDevice.begin(), m_crew.processOfDevice.end(), process);
  m_firstDevice = static_cast<int>(first - m_crew.processOfDevice.begin());
}

std::vector<std::int64_t> Station::ownBlocks(const Plan& plan, const Crew& crew) const {
  const std::vector<std::int64_t> all = blocksOnDevices(plan, crew.deviceOfRank, crew.devices());
  return {all.begin() + m_firstDevice, all.begin() + m_firstDevice + m_gpus.count()};
}

Result<Station::Layout> Station::layOut(const Plan& plan, const Geometry& geometry, const Crew& crew,
                                        std::int64_t maxStrands) const {
  Layout layout;
  layout.placement = placeConnections(plan, crew);
  auto packed = packPlan(plan, layout.placement.canPull);
  if (!packed) {
    return packed.error();
  }
  layout.packed = *std::move(packed);
  placeRings(layout.packed, layout.placement);
  const std::vector<std::int64_t> blocks = ownBlocks(plan, crew);
  const auto shape = chooseShape(blocks, m_rooms, std::min<std::int64_t>(geometry.tiles, maxStrands));
  if (!shape) {
    return shape.error();
  }
  layout.threads = shape->threads;
  const auto run = makeRunView(plan, geometry, ReduceOp::sum, shape->strands);
  if (!run) {
    return run.error();
  }
  layout.run = *run;
  layout.run.isSystemWide = crew.devices() > 1;

  Sizes& sizes = layout.sizes;
  const Placement& placement = layout.placement;
  const auto strands = static_cast<std::int64_t>(layout.run.strands);
  sizes.operations = roundUp(static_cast<std::int64_t>(layout.packed.ops.size() * sizeof(PackedOp)), kAlignment);
  sizes.control = checkedMul(layOutControl(plan, geometry.depth).strandWords, checkedMul(strands, kWordBytes));
  const auto rings = [&](int place) {
    return checkedMul(checkedMul(placement.ringsAt[place], strands),
                      checkedMul(std::int64_t{layout.run.depth}, layout.run.slotStride));
  };
  std::vector<std::int64_t> buffers(static_cast<std::size_t>(crew.devices()), 0);
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    std::int64_t& used = buffers[crew.deviceOfRank[rank]];
    layout.blockOfRank.push_back(used);
    used = checkedAdd(used, layOutBuffers(plan, geometry, rank).bytes);
  }
  for (int device = 0; device < m_gpus.count(); ++device) {
    const auto index = static_cast<std::size_t>(device);
    const std::int64_t views = checkedMul(blocks[index], strands);
    auto& arenas = sizes.arenas.emplace_back();
    arenas[at(Arena::buffers)] = roundUp(buffers[place(device)], m_unit);
    arenas[at(Arena::rings)] = roundUp(rings(place(device)), m_unit);
    arenas[at(Arena::control)] = roundUp(sizes.control, m_unit);
    arenas[at(Arena::program)] =
        checkedAdd(sizes.operations, checkedMul(views, static_cast<std::int64_t>(sizeof(BlockView))));
    sizes.progress = checkedAdd(sizes.progress, checkedMul(views, kWordBytes));
  }
  sizes.privateRings = rings(placement.privatePlace(m_process));
  sizes.usesPrivate = placement.isUsed(placement.privatePlace(m_process));
  const int shared = placement.sharedPlace(crew.hostOfProcess[m_process]);
  sizes.sharedRings = rings(shared);
  sizes.usesShared = placement.isUsed(shared);
  return layout;
}

Result<Station::Layout> Station::layOutWithin(const Plan& plan, const Geometry& geometry, std::int64_t maxStrands) {
  while (true) {
    auto layout = layOut(plan, geometry, maxStrands);
    if (!layout) {
      return layout;
    }
    maxStrands = layout->run.strands;
    std::optional<Error> lacking;
    for (int device = 0; device < m_gpus.count() && !lacking; ++device) {
      const std::int64_t needed = layout->sizes.onDevice(static_cast<std::size_t>(device));
      auto lack = lackOfRoom(m_gpus, device, needed, geometry.size);
      if (!lack) {
        return lack.error();
      }
      lacking = *std::move(lack);
    }
    if (!lacking) {
      return layout;
    }
    if (maxStrands == 1) {
      return *std::move(lacking);
    }
    maxStrands /= 2;
  }
}

// ---- memory

bool Station::mustGrow(const Layout& layout) const {
  for (int device = 0; device < m_gpus.count(); ++device) {
    for (int arena = 0; arena < kSharedArenas; ++arena) {
      if (m_gpus.memory(device, static_cast<Arena>(arena)).bytes < layout.sizes.arenas[device][arena]) {
        return true;
      }
    }
  }
  return false;
}

Outcome Station::reserve(const Layout& layout) {
  m_layout.reset();
  // What must grow gives back its memory first, so that old and new need not fit together.
  for (int device = 0; device < m_gpus.count(); ++device) {
    const auto& sizes = layout.sizes.arenas[device];
    m_gpus.release(device, Arena::trace);
    for (int arena = 0; arena < kArenas; ++arena) {
      if (m_gpus.memory(device, static_cast<Arena>(arena)).bytes < sizes[arena]) {
        m_gpus.release(device, static_cast<Arena>(arena));
      }
    }
    for (int arena = 0; arena < kArenas; ++arena) {
      if (Outcome reserved = m_gpus.reserve(device, static_cast<Arena>(arena), sizes[arena]); !reserved) {
        return reserved;
      }
    }
  }
  if (Outcome reserved = m_gpus.reserve(Pinned::progress, layout.sizes.progress); !reserved) {
    return reserved;
  }
  if (!layout.sizes.usesPrivate) {
    return Done{};
  }
  if (Outcome reserved = m_gpus.reserve(Pinned::control, layout.sizes.control); !reserved) {
    return reserved;
  }
  return m_gpus.reserve(Pinned::rings, layout.sizes.privateRings);
}

Outcome Station::settle(const Plan& plan, const Geometry& geometry, Layout layout, const Neighbourhood& neighbours) {
  m_plan = &plan;
  m_geometry = geometry;
  m_script = makeScript(plan, geometry, true);
  m_layout = std::move(layout);
  m_tilesBefore = 0;
  m_addresses.clear();
  const Placement& placement = m_layout->placement;
  const auto places = static_cast<std::size_t>(placement.places());
  const auto own = static_cast<std::size_t>(placement.privatePlace(m_process));
  const auto shared = static_cast<std::size_t>(placement.sharedPlace(m_crew.hostOfProcess[m_process]));
  Addresses host;
  host.control.assign(places, nullptr);
  host.rings.assign(places, nullptr);
  if (m_layout->sizes.usesPrivate) {
    unsigned char* const words = m_gpus.memory(Pinned::control).data;
    std::fill_n(words, m_layout->sizes.control, static_cast<unsigned char>(0));
    host.control[own] = reinterpret_cast<Word*>(words);
    host.rings[own] = m_gpus.memory(Pinned::rings).data;
  }
  if (m_layout->sizes.usesShared) {
    host.control[shared] = reinterpret_cast<Word*>(neighbours.shared);
    host.rings[shared] = neighbours.shared + m_layout->sizes.control;
  }
  m_hostAddresses = host;
  auto* progress = reinterpret_cast<Word*>(m_gpus.memory(Pinned::progress).data);
  const std::vector<std::int64_t> blocks = ownBlocks(plan, m_crew);
  for (int device = 0; device < m_gpus.count(); ++device) {
    Addresses addresses = host;
    const auto arenaOf = [&](int of, Arena arena) -> unsigned char* {
      const int local = of - m_firstDevice;
      return local >= 0 && local < m_gpus.count() ? m_gpus.memory(local, arena).data
             : neighbours.arenas.empty()          ? nullptr
                                                  : neighbours.arenas[device][of][at(arena)];
    };
    for (int of = 0; of < placement.devices; ++of) {
      addresses.control[of] = reinterpret_cast<Word*>(arenaOf(of, Arena::control));
      addresses.rings[of] = arenaOf(of, Arena::rings);
    }
    for (int rank = 0; rank < plan.rankCount(); ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      unsigned char* const start = arenaOf(placement.deviceOfRank[index], Arena::buffers);
      if (start == nullptr) {
        addresses.base.push_back({});
        continue;
      }
      const BufferLayout buffers = layOutBuffers(plan, geometry, rank);
      unsigned char* const block = start + m_layout->blockOfRank[index];
      addresses.base.push_back({block + buffers.input, block + buffers.output, block + buffers.scratch});
    }
    addresses.ops = reinterpret_cast<const PackedOp*>(m_gpus.memory(device, Arena::program).data);
    addresses.progress = progress;
    progress += blocks[device] * m_layout->run.strands;
    m_addresses.push_back(std::move(addresses));
    if (Outcome zeroed = m_gpus.fill(device, m_gpus.memory(device, Arena::control).data, 0, m_layout->sizes.control);
        !zeroed) {
      return zeroed;
    }
    if (Outcome copied = m_gpus.copyTo(device, m_gpus.memory(device, Arena::program).data, m_layout->packed.ops.data(),
                                       static_cast<std::int64_t>(m_layout->packed.ops.size() * sizeof(PackedOp)));
        !copied) {
      return copied;
    }
  }
  for (const int rank : localRanks()) {
    if (Outcome filled = writeGuards(m_gpus, deviceOf(rank), blockOf(rank), layOutBuffers(plan, geometry, rank));
        !filled) {
      return filled;
    }
  }
  return wireUp(false);
}

/// Gives the blocks their views.
Outcome Station::wireUp(bool traces) {
  m_grids.clear();
  for (int device = 0; device < m_gpus.count(); ++device) {
    Addresses& addresses = m_addresses[device];
    addresses.trace = traces ? reinterpret_cast<TraceSlot*>(m_gpus.memory(device, Arena::trace).data)
                             : static_cast<TraceSlot*>(nullptr);
    m_grids.push_back(wire(*m_plan, m_layout->packed, m_layout->placement, m_layout->run, addresses, place(device)));
    const std::vector<BlockView>& views = m_grids.back().views;
    if (Outcome copied = m_gpus.copyTo(device, m_gpus.memory(device, Arena::program).data + m_layout->sizes.operations,
                                       views.data(), static_cast<std::int64_t>(views.size() * sizeof(BlockView)));
        !copied) {
      return copied;
    }
  }
  m_isTracing = traces;
  return Done{};
}

std::vector<int> Station::localRanks() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(m_crew.deviceOfRank.size()); ++rank) {
    if (m_crew.processOf(rank) == m_process) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

unsigned char* Station::blockOf(int rank) const {
  return m_gpus.memory(deviceOf(rank), Arena::buffers).data + m_layout->blockOfRank[rank];
}

Outcome Station::write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) {
  if (!isReady()) {
    return Error{.message = "data before the preparation"};
  }
  const BufferLayout buffers = layOutBuffers(*m_plan, m_geometry, rank);
  return m_gpus.copyTo(deviceOf(rank),
                       blockOf(rank) + (kind == BufferKind::input ? buffers.input : buffers.output) + offset,
                       data.data(), static_cast<std::int64_t>(data.size()));
}

Outcome Station::read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) {
  if (!isReady()) {
    return Error{.message = "data before the preparation"};
  }
  const BufferLayout buffers = layOutBuffers(*m_plan, m_geometry, rank);
  return m_gpus.copyFrom(deviceOf(rank), data.data(),
                         blockOf(rank) + (kind == BufferKind::input ? buffers.input : buffers.output) + offset,
                         static_cast<std::int64_t>(data.size()));
}

std::int64_t Station::damagedGuards() {
  std::int64_t damaged = 0;
  for (const int rank : isReady() ? localRanks() : std::vector<int>()) {
    damaged += cuda::damagedGuards(m_gpus, deviceOf(rank), blockOf(rank), layOutBuffers(*m_plan, m_geometry, rank));
  }
  return damaged;
}

// ---- runs

Outcome Station::openAbort() {
  if (Outcome reserved = m_gpus.reserve(Pinned::abort, kWordBytes); !reserved) {
    return reserved;
  }
  m_abortWord = reinterpret_cast<Word*>(m_gpus.memory(Pinned::abort).data);
  setAbort(0);
  return Done{};
}

void Station::setAbort(Word value) noexcept {
  if (Word* word = m_abortWord) {
    std::atomic_ref<Word>(*word).store(value);
  }
}

Outcome Station::begin(const RunRequest& request) {
  setAbort(0);
  std::fill_n(m_gpus.memory(Pinned::progress).data, m_layout->sizes.progress, static_cast<unsigned char>(0));
  if (request.trace) {
    if (Outcome begun = beginTrace(); !begun) {
      return begun;
    }
  }
  m_view = m_layout->run;
  m_view.abort = m_abortWord;
  m_view.combine = request.op == ReduceOp::avg ? Combine::sum : static_cast<Combine>(request.op);
  m_view.traces = request.trace;
  m_divides = request.op == ReduceOp::avg && reduces(m_plan->operation);
  return Done{};
}

/// Room for events, made with the first traced run, and counts of events set back.
Outcome Station::beginTrace() {
  if (!m_isTracing) {
    std::int64_t max = 1;  // blocks on a device
    for (const Grid& grid : m_grids) {
      max = std::max(max, static_cast<std::int64_t>(grid.views.size()));
    }
    constexpr auto kSlotBytes = static_cast<std::int64_t>(sizeof(TraceSlot));
    const std::int64_t room = std::max<std::int64_t>(16, kTraceBytes / kSlotBytes / max);
    for (int device = 0; device < m_gpus.count(); ++device) {
      const auto index = static_cast<std::size_t>(device);
      m_addresses[index].traceRoom = static_cast<std::uint32_t>(room);
      const auto views = static_cast<std::int64_t>(m_grids[index].views.size());
      if (Outcome reserved = m_gpus.reserve(device, Arena::trace, views * room * kSlotBytes); !reserved) {
        return reserved;
      }
    }
    if (Outcome wired = wireUp(true); !wired) {
      return wired;
    }
  }
  const ControlLayout layout = layOutControl(*m_plan, m_geometry.depth);
  m_clocks.clear();
  for (int device = 0; device < m_gpus.count(); ++device) {
    Word* const control = m_addresses[device].control[place(device)];
    for (std::int64_t strand = 0; strand < m_layout->run.strands; ++strand) {
      if (Outcome zeroed = m_gpus.zeroWords(device, control + strand * layout.strandWords + layout.counters + kTraced,
                                            kCounters, static_cast<std::int64_t>(m_plan->blocks.size()));
          !zeroed) {
        return zeroed;
      }
    }
    const auto offset = m_gpus.clockOffset(device);
    if (!offset) {
      return offset.error();
    }
    m_clocks.push_back(*offset);
  }
  return Done{};
}

Outcome Station::launch(int slot, bool first) {
  std::vector<DeviceJob> jobs;
  for (int device = 0; device < m_gpus.count(); ++device) {
    jobs.push_back({.views = reinterpret_cast<const BlockView*>(m_gpus.memory(device, Arena::program).data +
                                                                m_layout->sizes.operations),
                    .count = m_grids[device].views.size(),
                    .threads = m_layout->threads});
  }
  m_view.tilesBefore = m_tilesBefore;
  m_tilesBefore += static_cast<Word>(m_view.tiles);
  return m_gpus.launch(slot, first, m_geometry.type, jobs, m_view);
}

Outcome Station::divide(int slot) {
  std::vector<Gpus::Division> divisions;
  for (const int rank : localRanks()) {
    if (m_geometry.outputElements > 0 && (!isRooted(m_plan->operation) || rank == m_plan->root)) {
      divisions.push_back({.device = deviceOf(rank),
                           .data = blockOf(rank) + layOutBuffers(*m_plan, m_geometry, rank).output,
                           .elements = m_geometry.outputElements});
    }
  }
  return m_gpus.divide(slot, m_geometry.type, divisions, m_plan->rankCount());
}

ProgressWords Station::progress() const {
  ProgressWords words;
  for (std::size_t device = 0; device < m_grids.size(); ++device) {
    Word* const progress = m_addresses[device].progress;
    std::vector<Word>& own = words.emplace_back(m_grids[device].views.size());
    for (std::size_t view = 0; view < own.size(); ++view) {
      own[view] = std::atomic_ref<Word>(progress[view]).load();
    }
  }
  return words;
}

StrandWords Station::standings() const {
  StrandWords all(m_layout->run.strands, m_plan->blocks.size());
  const ProgressWords words = progress();
  for (std::size_t device = 0; device < m_grids.size(); ++device) {
    all.add(m_grids[device], words[device]);
  }
  return all;
}

std::vector<program::TraceEvent> Station::takeTrace(std::int64_t origin, std::int64_t& dropped) {
  std::vector<program::TraceEvent> events;
  dropped = 0;
  if (!m_layout || !m_isTracing) {
    return events;
  }
  const ControlLayout layout = layOutControl(*m_plan, m_geometry.depth);
  std::vector<Word> control(static_cast<std::size_t>(layout.strandWords * m_layout->run.strands));
  for (int device = 0; device < m_gpus.count(); ++device) {
    const auto index = static_cast<std::size_t>(device);
    const Grid& grid = m_grids[index];
    const std::uint32_t room = m_addresses[index].traceRoom;
    std::vector<TraceSlot> slots(grid.views.size() * room);
    if (!m_gpus.copyFrom(device, control.data(), m_gpus.memory(device, Arena::control).data, m_layout->sizes.control) ||
        !m_gpus.copyFrom(device, slots.data(), m_gpus.memory(device, Arena::trace).data,
                         static_cast<std::int64_t>(slots.size() * sizeof(TraceSlot)))) {
      continue;
    }
    // The clocks agree within some microseconds; nothing began before the run.
    const auto since = [&](Word time) {
      return std::max<std::int64_t>(0, static_cast<std::int64_t>(time) + m_clocks[index] - origin);
    };
    for (std::size_t view = 0; view < grid.views.size(); ++view) {
      const int number = grid.blocks[view % grid.blocks.size()];
      const PlanBlock& block = m_plan->blocks[number];
      const auto strand = static_cast<std::int64_t>(view / grid.blocks.size());
      const Word traced =
          control[strand * layout.strandWords + layout.counters + std::int64_t{kCounters} * number + kTraced];
      const Word kept = std::min<Word>(traced, room);
      dropped += static_cast<std::int64_t>(traced - kept);
      for (Word event = 0; event < kept; ++event) {
        const TraceSlot& slot = slots[view * room + event];
        events.push_back({.rank = block.rank,
                          .threadBlock = block.id,
                          .step = static_cast<int>(slot.step),
                          .tile = static_cast<int>(slot.tile),
                          .start_ns = since(slot.start),
                          .end_ns = since(slot.end)});
      }
    }
  }
  return events;
}

}  // namespace coppice::executor::cuda
