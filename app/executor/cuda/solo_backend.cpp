// SPDX-License-Identifier: Apache-2.0
#include "cuda/solo_backend.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>

#include "base/checked.hpp"
#include "cuda/launch_loop.hpp"
#include "cuda/opened_backend.hpp"
#include "cuda/station.hpp"
#include "engine/run_failures.hpp"

namespace coppice::executor::cuda {
namespace {

using Clock = std::chrono::steady_clock;

class SoloBackend : public Backend, private Launchable {
public:
  SoloBackend(std::unique_ptr<Gpus> gpus, int ranks, const Tuning& tuning)
      : m_ranks(ranks), m_tuning(tuning), m_gpus(std::move(gpus)), m_station(*m_gpus), m_loop(*m_gpus, tuning) {}
  ~SoloBackend() override;
  Outcome open();

  BackendInfo info() const override;
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override;
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override;
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override { return m_station.localRanks(); }
  RankBuffers buffers(int /*rank*/) override { return {}; }
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) override {
    return m_station.write(rank, kind, offset, data);
  }
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) override {
    return m_station.read(rank, kind, offset, data);
  }
  std::int64_t damagedGuards() override { return m_station.damagedGuards(); }
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override {
    m_loop.noteAbort();
    m_station.setAbort(1);
  }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    return m_station.takeTrace(m_origin, dropped);
  }
  double measureMemory(std::stop_token stop) override;

private:
  Outcome tryPrepare(const Plan& plan, const Geometry& geometry);
  /// An iteration, with its division.
  Outcome launch(int slot, bool first) override;
  [[nodiscard]] ProgressWords progress() const override { return m_station.progress(); }
  [[nodiscard]] program::StuckRecord explain(bool isDeadlock) const override {
    return cuda::explain(m_station.plan(), m_station.script(), m_station.standings(), isDeadlock);
  }
  void stopBlocks() noexcept override { m_station.setAbort(1); }

  int m_ranks;
  Tuning m_tuning;
  std::unique_ptr<Gpus> m_gpus;
  Station m_station;
  LaunchLoop m_loop;
  std::int64_t m_origin = 0;
};

Outcome SoloBackend::open() {
  // For the choice of pieces; prepare asks again for the actual type.
  if (Outcome loaded = m_station.load(DataType::float32); !loaded) {
    return loaded;
  }
  m_station.join(crewOfOne(m_ranks, m_gpus->reach()), 0, 1);
  return m_station.openAbort();
}

SoloBackend::~SoloBackend() {
  m_station.closeAbort();
  if (m_loop.isLost()) {
    m_gpus->forget();
  }
}

BackendInfo SoloBackend::info() const {
  const int devices = m_gpus->count();
  BackendInfo info = {
      .name = "cuda",
      .summary = std::to_string(m_ranks) + " ranks on " + std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs"),
      .facts = m_gpus->facts()};
  if (m_ranks > devices) {
    info.label = kRehearsal;
  }
  info.facts["half and bfloat16"] = "reduced in float at each step";
  const Reach& reach = m_station.crew().reach;
  const bool allReach = std::all_of(reach.begin(), reach.end(), [](const std::vector<bool>& row) {
    return std::find(row.begin(), row.end(), false) == row.end();
  });
  if (devices > 1) {
    info.facts["between GPUs"] =
        allReach ? "peer access" : "host memory where peer access is missing, peer access elsewhere";
  }
  return info;
}

MemoryNeed SoloBackend::need(const Plan& plan, const Geometry& geometry) const {
  const auto layout = m_station.layOut(plan, geometry, 1);
  if (!layout) {
    return {};  // prepare says why
  }
  return {.hostBytes = checkedAdd(layout->sizes.progress, layout->sizes.privateRings),
          .deviceBytes = layout->sizes.onFullestDevice()};
}

std::int64_t SoloBackend::pieceBytes(const Plan& plan, DataType /*type*/, std::int64_t bytes) const {
  const Crew& crew = m_station.crew();
  const auto shape = chooseShape(blocksOnDevices(plan, crew.deviceOfRank, crew.devices()), m_station.rooms(),
                                 std::numeric_limits<std::int64_t>::max());
  return choosePiece(plan, bytes, shape ? shape->strands : 1);
}

Outcome SoloBackend::prepare(const Plan& plan, const Geometry& geometry) {
  m_station.drop();
  if (m_loop.isLost()) {
    return Error{.code = ErrorCode::internal, .message = "a kernel of an earlier run has not finished"};
  }
  Outcome prepared = withinMemory([&] { return tryPrepare(plan, geometry); });
  if (!prepared) {
    m_station.drop();
  }
  return prepared;
}

Outcome SoloBackend::tryPrepare(const Plan& plan, const Geometry& geometry) {
  if (Outcome loaded = m_station.load(geometry.type); !loaded) {
    return loaded;
  }
  auto layout = m_station.layOutWithin(plan, geometry, m_tuning.maxStrands);
  if (!layout) {
    return layout.error();
  }
  if (Outcome reserved = m_station.reserve(*layout); !reserved) {
    return reserved;
  }
  return m_station.settle(plan, geometry, *std::move(layout), {});
}

RunResult SoloBackend::run(const RunRequest& request) {
  if (!m_station.isReady()) {
    return unpreparedRun();
  }
  try {
    m_loop.begin();
    if (const Outcome begun = m_station.begin(request); !begun) {
      m_station.drop();
      return RunFailure{.exit = program::exitFor(begun.error()), .error = begun.error(), .stuck = {}};
    }
    const std::stop_callback onStop(request.stop, [this] { abort(); });
    m_origin = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
    RunResult result = m_loop.run(request, *this);
    if (!result) {
      m_station.drop();  // counters are amid a run; prepare makes new ones
    }
    return result;
  } catch (const std::bad_alloc&) {
    m_station.drop();
    const Error error{.code = ErrorCode::limit, .message = "not enough memory for the run"};
    return RunFailure{.exit = program::exitFor(error), .error = error, .stuck = {}};
  }
}

Outcome SoloBackend::launch(int slot, bool first) {
  Outcome started = m_station.launch(slot, first);
  return started && m_station.divides() ? m_station.divide(slot) : started;
}

double SoloBackend::measureMemory(std::stop_token stop) {
  double all = 0;
  for (int device = 0; device < m_gpus->count(); ++device) {
    if (stop.stop_requested()) {
      return 0;
    }
    all += m_gpus->measureCopies(device);
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Backend>> makeSoloBackend(std::unique_ptr<Gpus> gpus, int ranks, const Tuning& tuning) {
  return openedBackend<SoloBackend>([](SoloBackend& made) { return made.open(); }, std::move(gpus), ranks, tuning);
}

}  // namespace coppice::executor::cuda
