// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <system_error>

#include "base/checked.hpp"
#include "engine/backend.hpp"
#include "engine/buffers.hpp"
#include "engine/run_failures.hpp"
#include "engine/within_memory.hpp"
#include "mpi/job_environment.hpp"
#include "mpi/mpi_plan_backend.hpp"
#include "mpi/mpi_runner.hpp"
#include "mpi/mpi_world.hpp"
#include "mpi/world_backend.hpp"
#include "mpi/world_failures.hpp"
#include "threads/cores.hpp"
#include "threads/worker_pool.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{128} << 10;
constexpr std::int64_t kNetworkPieceBytes = std::int64_t{256} << 10;
constexpr std::int64_t kShortBytes = std::int64_t{64} << 10;  // up to this size messages are copied, not lent
constexpr std::int64_t kPage = 4096;
constexpr int kMaxWorkers = 64;

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return checkedAdd(value, unit - 1) / unit * unit;
}

/// Where everything is in the memory that a host's processes share, in bytes.
struct SegmentLayout {
  std::vector<std::int64_t> connections;  ///< by connection: two counters, then messages; -1 = not within this host
  std::vector<std::int64_t> slots;
  std::vector<std::int64_t> positions;  ///< by block; -1 = on another host
  std::vector<std::int64_t> ranks;      ///< by rank; -1 = on another host
  std::vector<BufferLayout> buffers;    ///< by rank
  std::int64_t controlBytes = 0;        ///< from the start: what must be zero before a run
  std::int64_t bytes = 0;
};

SegmentLayout layOut(const Plan& plan, const Geometry& geometry, const MpiWorld& world) {
  SegmentLayout layout;
  const auto depth = static_cast<std::int64_t>(geometry.depth);
  std::int64_t at = 0;
  const auto place = [&](std::int64_t bytes, std::int64_t unit) {
    const std::int64_t begin = roundUp(at, unit);
    at = checkedAdd(begin, bytes);
    return begin;
  };
  const auto isHere = [&](int rank) { return world.seatOf(rank) >= 0; };
  for (const PlanConnection& connection : plan.connections) {
    const bool isLocal = isHere(connection.sendRank) && isHere(connection.recvRank);
    layout.connections.push_back(isLocal ? place(static_cast<std::int64_t>(2 * sizeof(Counter)) +
                                                     depth * static_cast<std::int64_t>(sizeof(Message)),
                                                 64)
                                         : -1);
  }
  for (const PlanBlock& block : plan.blocks) {
    layout.positions.push_back(isHere(block.rank) ? place(sizeof(PublicPosition), alignof(PublicPosition)) : -1);
  }
  layout.controlBytes = at;
  for (std::size_t i = 0; i < plan.connections.size(); ++i) {
    layout.slots.push_back(layout.connections[i] < 0 ? -1 : place(checkedMul(depth, geometry.slotBytes), kPage));
  }
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    layout.buffers.push_back(layOutBuffers(plan, geometry, rank));
    layout.ranks.push_back(isHere(rank) ? place(layout.buffers.back().bytes, kPage) : -1);
  }
  layout.bytes = roundUp(std::max<std::int64_t>(at, 1), kPage);
  return layout;
}

class MpiBackend : public WorldBackend {
public:
  MpiBackend(std::unique_ptr<MpiWorld> world, int workers)
      : WorldBackend(std::move(world)), m_workers(workers), m_pool(workers) {}
  ~MpiBackend() override { drop(); }

  BackendInfo info() const override { return worldInfo(m_workers); }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override {
    std::int64_t bytes = layOut(plan, geometry, *m_world).bytes;
    if (m_world->isNetworked()) {
      const std::int64_t slots = checkedMul(std::int64_t{geometry.depth}, geometry.slotBytes);
      for (const PlanConnection& connection : plan.connections) {
        const int ends =
            (m_world->seatOf(connection.sendRank) >= 0 ? 1 : 0) + (m_world->seatOf(connection.recvRank) >= 0 ? 1 : 0);
        bytes = checkedAdd(bytes, ends == 1 ? slots : 0);
      }
    }
    return {.hostBytes = bytes};
  }
  std::int64_t pieceBytes(const Plan& /*plan*/, DataType /*type*/, std::int64_t /*bytes*/) const override {
    return m_world->isNetworked() ? kNetworkPieceBytes : kPieceBytes;
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override { return m_rank >= 0 ? std::vector<int>{m_rank} : std::vector<int>(); }
  RankBuffers buffers(int rank) override {
    std::byte* const block = m_segment.data() + m_layout.ranks[rank];
    const BufferLayout& layout = m_layout.buffers[rank];
    return {.input = block + layout.input, .output = block + layout.output};
  }
  std::int64_t damagedGuards() override {
    return m_rank < 0 ? 0
                      : executor::damagedGuards(m_segment.data() + m_layout.ranks[m_rank], m_layout.buffers[m_rank]);
  }
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override {
    if (MpiRunner* const runner = m_running.load()) {
      runner->abort();
    }
  }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    dropped = 0;
    return m_runner ? m_runner->takeTrace(dropped) : std::vector<program::TraceEvent>();
  }
  double measureMemory(std::stop_token stop) override;

private:
  void drop();
  Outcome makeSegment();
  RankSetup makeSetup(const Plan& plan, const Geometry& geometry);

  int m_workers = 1;
  WorkerPool m_pool;
  int m_rank = -1;
  SharedSegment m_segment;
  SegmentLayout m_layout;
  std::vector<Counter> m_flags;     ///< by block of this rank
  std::vector<Counter> m_ends;      ///< tails and heads of connections over the network
  std::vector<Message> m_messages;  ///< of these
  std::vector<Mapping> m_slots;     ///< of these
  std::unique_ptr<MpiRunner> m_runner;
  std::atomic<MpiRunner*> m_running = nullptr;  ///< for abort, which may come from a signal handler
};

/// The run before has ended or failed; nothing of it may be under way.
void MpiBackend::drop() {
  if (m_runner && !m_world->isBroken()) {
    m_runner->close();
  }
  m_runner.reset();
}

Outcome MpiBackend::makeSegment() {
  const auto isNew = m_world->grow(m_segment, m_layout.bytes);
  if (!isNew) {
    return isNew.error();
  }
  if (!*isNew && m_world->seat() == 0) {
    std::memset(m_segment.data(), 0, static_cast<std::size_t>(m_layout.controlBytes));
  }
  return m_world->gate();
}

RankSetup MpiBackend::makeSetup(const Plan& plan, const Geometry& geometry) {
  RankSetup setup;
  setup.plan = &plan;
  setup.geometry = geometry;
  setup.runsAhead = !m_world->isNetworked() && geometry.size <= kShortBytes;
  setup.script = makeScript(plan, geometry, !setup.runsAhead);
  std::int64_t footprint = 0;
  for (int rank = 0; rank < plan.rankCount(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::byte* const block = m_layout.ranks[at] < 0 ? nullptr : m_segment.data() + m_layout.ranks[at];
    footprint += block == nullptr ? 0 : m_layout.buffers[at].bytes;
    for (const program::Buffer buffer : {program::Buffer::input, program::Buffer::output, program::Buffer::scratch}) {
      setup.bases.push_back(block == nullptr ? nullptr : block + m_layout.buffers[at].start(buffer));
    }
  }
  setup.streams = footprint > sharedCacheBytes() / 2;
  std::size_t remote = 0;
  for (const std::int64_t offset : m_layout.connections) {
    remote += offset < 0 ? 1U : 0U;
  }
  const auto depth = static_cast<std::size_t>(geometry.depth);
  m_ends = std::vector<Counter>(2 * remote);
  m_messages.assign(remote * depth, Message{});
  m_slots.clear();
  m_slots.resize(remote);
  remote = 0;
  for (std::size_t i = 0; i < plan.connections.size(); ++i) {
    const PlanConnection& connection = plan.connections[i];
    ConnectionView view;
    view.senderSeat = m_world->seatOf(connection.sendRank);
    view.receiverSeat = m_world->seatOf(connection.recvRank);
    if (m_layout.connections[i] >= 0) {
      std::byte* const at = m_segment.data() + m_layout.connections[i];
      view.tail = &reinterpret_cast<Counter*>(at)[0].value;
      view.head = &reinterpret_cast<Counter*>(at)[1].value;
      view.messages = reinterpret_cast<Message*>(at + 2 * sizeof(Counter));
      view.slots = m_segment.data() + m_layout.slots[i];
    } else if (connection.sendRank == m_rank || connection.recvRank == m_rank) {
      if (!m_slots[remote].reserve(geometry.slotBytes * geometry.depth)) {
        throw std::bad_alloc();
      }
      view.tail = &m_ends[2 * remote].value;
      view.head = &m_ends[2 * remote + 1].value;
      view.messages = &m_messages[remote * depth];
      view.slots = m_slots[remote].data();
      ++remote;
    }
    setup.connections.push_back(view);
  }
  setup.flags.assign(plan.blocks.size(), nullptr);
  setup.positions.assign(plan.blocks.size(), nullptr);
  if (m_rank >= 0) {
    setup.firstBlock = plan.ranks[m_rank].firstBlock;
    setup.endBlock = plan.ranks[m_rank].endBlock;
  }
  m_flags = std::vector<Counter>(static_cast<std::size_t>(setup.endBlock - setup.firstBlock));
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    if (m_layout.positions[block] >= 0) {
      setup.positions[block] = reinterpret_cast<PublicPosition*>(m_segment.data() + m_layout.positions[block]);
    }
    const auto number = static_cast<int>(block);
    if (number >= setup.firstBlock && number < setup.endBlock) {
      setup.flags[block] = &m_flags[block - static_cast<std::size_t>(setup.firstBlock)];
      // A pointer means nothing on another host.
      const int connection = plan.blocks[block].sendConnection;
      if (connection >= 0 && m_layout.connections[connection] < 0) {
        const ScriptBlock& range = setup.script.blocks[block];
        for (int op = range.firstOp; op < range.endOp; ++op) {
          setup.script.ops[op].byPointer = false;
        }
      }
    }
  }
  return setup;
}

Outcome MpiBackend::prepare(const Plan& plan, const Geometry& geometry) {
  if (Outcome enough = requireProcesses(plan.rankCount()); !enough) {
    return enough;
  }
  drop();
  m_rank = m_world->process() < plan.rankCount() ? m_world->process() : -1;
  const Outcome laidOut = withinMemory([&]() -> Outcome {
    m_layout = layOut(plan, geometry, *m_world);
    if (geometry.slotBytes > INT_MAX) {
      return Error{.code = ErrorCode::limit,
                   .message = "pieces of more than 2 GiB cannot be sent through MPI",
                   .fix = "use --piece"};
    }
    return Done{};
  });
  if (Outcome agreed = m_world->agree(laidOut); !agreed) {
    return agreed;
  }
  if (const Outcome outcome = makeSegment(); !outcome) {
    return outcome;
  }
  RankSetup setup;
  const Outcome made = withinMemory([&]() -> Outcome {
    setup = makeSetup(plan, geometry);
    if (m_rank >= 0) {
      const auto rank = static_cast<std::size_t>(m_rank);
      writeGuards(m_segment.data() + m_layout.ranks[rank], m_layout.buffers[rank]);
    }
    return Done{};
  });
  if (Outcome agreed = m_world->agree(made); !agreed) {
    return agreed;
  }
  m_runner = std::make_unique<MpiRunner>(*m_world, std::move(setup), m_workers);
  return m_world->gate();
}

RunResult MpiBackend::run(const RunRequest& request) {
  if (!m_runner) {
    return unpreparedRun();
  }
  if (const Outcome outcome = m_runner->begin(request); !outcome) {
    return brokenRun(*m_world, outcome.error());
  }
  {
    m_running.store(m_runner.get());
    const std::stop_callback onStop(request.stop, [this] { m_runner->abort(); });
    m_pool.run(m_workers, [this](int worker) { m_runner->work(worker); });
    m_running.store(nullptr);
  }
  RunTimes times;
  if (auto failure = m_runner->finish(times)) {
    drop();
    return *std::move(failure);
  }
  return times;
}

double MpiBackend::measureMemory(std::stop_token /*stop*/) {
  // All processes copy at once. A process that has to stop still takes part: the others wait for it.
  constexpr int kRounds = 5;
  // In whole pieces: any number of processes may share the 128 MiB.
  const std::int64_t pieces =
      std::max((std::int64_t{128} << 20) / m_world->processes(), std::int64_t{8} << 20) / kPieceBytes;
  const std::int64_t bytes = pieces * kPieceBytes;
  Mapping memory;
  const bool isReserved = static_cast<bool>(memory.reserve(2 * bytes));
  const auto lacking = m_world->sum(isReserved ? 0 : 1);
  if (!lacking || *lacking > 0) {
    return 0;
  }
  std::memset(memory.data(), 1, static_cast<std::size_t>(2 * bytes));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (!m_world->gate()) {
      return 0;
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t at = 0; at < bytes; at += kPieceBytes) {
      copyBytes(memory.data() + bytes + at, memory.data() + at, kPieceBytes, Store::streamed);
    }
    if (!m_world->gate()) {
      return 0;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto slowest = m_world->max(seconds);
    if (!slowest) {
      return 0;
    }
    best = std::max(best, 2.0 * static_cast<double>(bytes) * m_world->processes() / *slowest);
  }
  return best;
}

program::BackendNote probe() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);  // allowed before MPI_Init
  std::string library = version;
  library.resize(std::min(library.size(), library.find_first_of(",\n")));
  const int processes = jobProcesses();
  return {.name = "mpi",
          .available = true,
          .reason = library + (processes > 0 ? ", " + std::to_string(processes) + " processes" : "")};
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  if (!isUnderMpi() && options.ranks > 1) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "this process was started alone, not by mpirun or srun",
                 .fix = "start it with mpirun -n " + std::to_string(options.ranks)};
  }
  auto world = MpiWorld::start();
  if (!world) {
    return world.error();
  }
  const int neighbours = static_cast<int>((*world)->neighbours().size());
  const int share = std::max(1, allowedCores() / ((*world)->isForced() ? (*world)->processes() : neighbours));
  const int workers = std::clamp(options.workers > 0 ? options.workers : share, 1, kMaxWorkers);
  try {
    if (options.executionPlan) {
      return makeMpiPlanBackend(*std::move(world), options.executionPlan, workers);
    }
    return std::unique_ptr<Backend>(std::make_unique<MpiBackend>(std::move(*world), workers));
  } catch (const std::system_error&) {
    return Error{.code = ErrorCode::limit,
                 .message = "the system does not provide " + std::to_string(workers) + " threads",
                 .fix = "use fewer with --workers"};
  }
}

int ranks(const BackendOptions& /*options*/) {
  return jobProcesses();
}

}  // namespace
}  // namespace coppice::executor

extern "C" __attribute__((visibility("default"))) const coppice::executor::BackendKind* coppiceBackend(int abi) {
  static const coppice::executor::BackendKind kind = {.name = "mpi",
                                                      .probe = &coppice::executor::probe,
                                                      .create = &coppice::executor::create,
                                                      .ranks = &coppice::executor::ranks};
  return abi == coppice::executor::kBackendAbi ? &kind : nullptr;
}
