// SPDX-License-Identifier: Apache-2.0
#include "cuda/team_backend.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "cuda/neighbour_memory.hpp"
#include "cuda/opened_backend.hpp"
#include "cuda/stamp_ends.hpp"
#include "cuda/station.hpp"
#include "cuda/team.hpp"
#include "cuda/team_loop.hpp"
#include "engine/run_failures.hpp"
#include "mpi/world_backend.hpp"

namespace coppice::executor::cuda {
namespace {

/// Rings that the main thread of a process serves; more strands would keep it from each.
constexpr std::int64_t kMaxNetworkRings = 128;
constexpr std::int64_t kNetworkPieceBytes = std::int64_t{64} << 10;

class TeamBackend : public WorldBackend {
public:
  TeamBackend(std::unique_ptr<MpiWorld> world, Team team, std::unique_ptr<Gpus> gpus, const Tuning& tuning)
      : WorldBackend(std::move(world)),
        m_team(std::move(team)),
        m_tuning(tuning),
        m_gpus(std::move(gpus)),
        m_station(*m_gpus),
        m_memory(*m_world, *m_gpus, m_station),
        m_loop(*m_world, *m_gpus, m_station, tuning) {}
  ~TeamBackend() override;
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
  void abort() noexcept override { m_loop.abort(); }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    return m_station.takeTrace(m_loop.origin(), dropped);
  }
  double measureMemory(std::stop_token stop) override;

private:
  /// How GPUs of different processes reach each other.
  [[nodiscard]] std::map<std::string, std::string> pathFacts() const;
  [[nodiscard]] std::int64_t maxStrandsFor(const Plan& plan, const Crew& crew) const;
  /// The same layout in all processes, which call it together.
  Result<Station::Layout> layOut(const Plan& plan, const Geometry& geometry);
  void closeProxy();
  Outcome startProxy();

  Team m_team;
  Tuning m_tuning;
  std::unique_ptr<Gpus> m_gpus;
  Station m_station;
  NeighbourMemory m_memory;
  std::string m_whyNotMapped;
  std::unique_ptr<Proxy> m_proxy;
  TeamLoop m_loop;
  bool m_isOpen = false;  ///< in all processes
};

TeamBackend::~TeamBackend() {
  m_station.closeAbort();
  const bool isWhole = !m_world->isBroken() && m_isOpen;
  if (isWhole) {
    closeProxy();
  }
  m_proxy.reset();
  if (m_loop.isLost()) {
    m_gpus->forget();  // whatever waits for the kernel would wait forever
  } else {
    m_memory.unmap();
  }
  if (isWhole) {
    (void)m_world->gate();  // no process releases what another one has mapped
  }
  if (!m_loop.isLost()) {
    m_memory.unpin();
  }
}

Outcome TeamBackend::open() {
  m_station.shareDevices(m_team.sharersOf(m_world->process()));
  Outcome ready = m_station.openAbort();
  // For the choice of pieces; prepare asks again for the actual type.
  ready = ready ? m_station.load(DataType::float32) : ready;
  if (Outcome agreed = m_world->agree(ready); !agreed) {
    return agreed;
  }
  if (Outcome told = m_team.gatherDevices(*m_world, *m_gpus, m_station.rooms()); !told) {
    return told;
  }
  auto trial = m_memory.tryOut(m_team);
  if (!trial) {
    return trial.error();
  }
  m_team.setReach(std::move(trial->reach));
  m_whyNotMapped = std::move(trial->why);
  m_station.join(m_team.crewFor(m_team.ranks()), m_world->process(), kShareUnit);
  m_isOpen = true;
  return Done{};
}

BackendInfo TeamBackend::info() const {
  BackendInfo info = {
      .name = "cuda",
      .summary = counted(m_team.ranks(), "rank") + " on " + counted(m_team.usedGpus(), "GPU") + " in " + worldText(),
      .facts = m_gpus->facts()};
  for (int device = 0; device < m_gpus->count(); ++device) {
    info.facts.erase(m_gpus->name(device));  // among all GPUs of the run
  }
  for (const auto& [kind, number] : m_team.kinds()) {
    std::string& all = info.facts["GPUs"];
    all += (all.empty() ? "" : "; ") + std::to_string(number) + " x " + kind;
  }
  if (m_team.mostRanksOnGpu() > 1) {
    info.label = kRehearsal;
  } else if (m_world->isForced()) {
    info.label = "memory of other processes switched off: every message goes through MPI";
  }
  info.facts["half and bfloat16"] = "reduced in float at each step";
  info.facts["timing"] = "events on each GPU; processes meet before each iteration";
  info.facts.merge(worldFacts());
  info.facts.merge(pathFacts());
  return info;
}

std::map<std::string, std::string> TeamBackend::pathFacts() const {
  const Crew crew = m_team.crewFor(m_team.ranks());
  int mapped = 0;
  int shared = 0;
  int networked = 0;
  for (int a = 0; a < crew.devices(); ++a) {
    for (int b = a + 1; b < crew.devices(); ++b) {
      const int from = crew.processOfDevice[a];
      const int to = crew.processOfDevice[b];
      const bool isDirect = crew.reach[a][b] && crew.reach[b][a];
      if (from != to) {
        (isDirect ? mapped : m_team.areNeighbours(from, to) ? shared : networked) += 1;
      }
    }
  }
  std::string paths;
  const auto add = [&](int pairs, const std::string& how) {
    if (pairs > 0) {
      paths += (paths.empty() ? "" : "; ") + how + " for " + counted(pairs, "pair") + " of GPUs";
    }
  };
  add(mapped, "mapped memory of the other GPU");
  add(shared, "host memory that both processes share");
  add(networked, "host memory of each process, and MPI");
  std::map<std::string, std::string> facts;
  if (!paths.empty()) {
    facts["between processes"] = paths;
  }
  if (shared > 0 && !m_whyNotMapped.empty()) {
    facts["not mapped because"] = m_whyNotMapped;
  }
  return facts;
}

// ---- preparing

/// Strands multiply the rings that the main thread serves.
std::int64_t TeamBackend::maxStrandsFor(const Plan& plan, const Crew& crew) const {
  const Placement placement = placeConnections(plan, crew);
  std::vector<std::int64_t> rings(static_cast<std::size_t>(m_world->processes()), 0);
  for (std::size_t connection = 0; connection < plan.connections.size(); ++connection) {
    if (placement.isNetworked[connection]) {
      ++rings[crew.processOf(plan.connections[connection].sendRank)];
      ++rings[crew.processOf(plan.connections[connection].recvRank)];
    }
  }
  const std::int64_t max = *std::max_element(rings.begin(), rings.end());
  return max == 0 ? m_tuning.maxStrands
                  : std::min(m_tuning.maxStrands, std::max<std::int64_t>(1, kMaxNetworkRings / max));
}

MemoryNeed TeamBackend::need(const Plan& plan, const Geometry& geometry) const {
  const auto layout = m_station.layOut(plan, geometry, m_team.crewFor(plan.rankCount()), 1);
  if (!layout) {
    return {};  // prepare says why
  }
  const Station::Sizes& sizes = layout->sizes;
  const std::int64_t own =
      checkedAdd(checkedAdd(sizes.progress, sizes.privateRings), sizes.usesPrivate ? sizes.control : 0);
  const auto neighbours = static_cast<std::int64_t>(m_world->neighbours().size());
  return {.hostBytes = checkedAdd(sizes.shared(), checkedMul(neighbours, own)), .deviceBytes = sizes.onFullestDevice()};
}

/// The same in every process, whatever its own GPUs are.
std::int64_t TeamBackend::pieceBytes(const Plan& plan, DataType /*type*/, std::int64_t bytes) const {
  const Crew crew = m_team.crewFor(plan.rankCount());
  const std::int64_t strands = maxStrandsFor(plan, crew);
  const auto shape = chooseShape(blocksOnDevices(plan, crew.deviceOfRank, crew.devices()), m_team.rooms(), strands);
  const std::int64_t piece = choosePiece(plan, bytes, shape ? shape->strands : 1);
  return m_world->isNetworked() ? std::max(piece, kNetworkPieceBytes) : piece;
}

Result<Station::Layout> TeamBackend::layOut(const Plan& plan, const Geometry& geometry) {
  std::optional<Station::Layout> layout;
  const auto keep = [&](auto how) -> Outcome {
    return withinMemory([&]() -> Outcome {
      auto made = how();
      if (!made) {
        return made.error();
      }
      layout = *std::move(made);
      return Done{};
    });
  };
  Outcome fits =
      m_loop.isLost()
          ? Outcome(Error{.code = ErrorCode::internal, .message = "a kernel of an earlier run has not finished"})
          : m_station.load(geometry.type);
  if (fits) {
    fits = keep([&] { return m_station.layOutWithin(plan, geometry, maxStrandsFor(plan, m_station.crew())); });
  }
  if (const Outcome agreed = m_world->agree(fits); !agreed) {
    return agreed.error();
  }
  // A strand is one everywhere or nowhere.
  const auto fewest = m_world->max(-static_cast<double>(layout->run.strands));
  if (!fewest) {
    return fewest.error();
  }
  const auto strands = static_cast<std::int64_t>(-*fewest);
  if (const Outcome agreed = m_world->agree(keep([&] { return m_station.layOut(plan, geometry, strands); })); !agreed) {
    return agreed.error();
  }
  return *std::move(layout);
}

Outcome TeamBackend::prepare(const Plan& plan, const Geometry& geometry) {
  if (Outcome whole = requireWhole(); !whole) {
    return whole;
  }
  closeProxy();
  m_station.drop();
  m_station.join(m_team.crewFor(plan.rankCount()), m_world->process(), kShareUnit);
  auto layout = layOut(plan, geometry);
  if (!layout) {
    return layout.error();
  }
  if (Outcome reserved = m_memory.reserve(*layout); !reserved) {
    return reserved;
  }
  m_memory.clearWords(*layout);
  const Outcome settled =
      withinMemory([&] { return m_station.settle(plan, geometry, *std::move(layout), m_memory.view()); });
  if (Outcome agreed = m_world->agree(settled); !agreed) {
    m_station.drop();
    return agreed;
  }
  return startProxy();
}

void TeamBackend::closeProxy() {
  if (m_proxy) {
    m_proxy->stop();
    m_proxy.reset();
  }
}

Outcome TeamBackend::startProxy() {
  const Plan& plan = m_station.plan();
  const Station::Layout& layout = m_station.layout();
  const Placement& placement = layout.placement;
  const Addresses& addresses = m_station.addresses();
  const ControlLayout control = layOutControl(plan, static_cast<int>(layout.run.depth));
  m_proxy = std::make_unique<Proxy>(m_world->comm());
  std::map<std::pair<int, int>, int> channels;  // numbers given out between two processes
  for (std::size_t index = 0; index < plan.connections.size(); ++index) {
    const ConnectionEnd* ends[] = {&placement.sendEnd[index], &placement.recvEnd[index]};
    if (!placement.isNetworked[index] || ends[0]->ring < 0) {
      continue;
    }
    const int from = m_station.crew().processOf(plan.connections[index].sendRank);
    const int to = m_station.crew().processOf(plan.connections[index].recvRank);
    int& channel = channels[{from, to}];
    for (std::int64_t strand = 0; strand < layout.run.strands; ++strand, ++channel) {
      const auto ringOf = [&](const ConnectionEnd& end) {
        Word* const words = addresses.control[end.dataPlace] + strand * control.strandWords;
        return StampRing{.stamps = words + control.stampsOf(static_cast<int>(index)),
                         .head = words + control.headOf(static_cast<int>(index)),
                         .slots = addresses.ring(placement, end, layout.run, strand),
                         .depth = layout.run.depth,
                         .stride = layout.run.slotStride};
      };
      if (from == m_world->process()) {
        m_proxy->addSender(to, channel, std::make_unique<StampSender>(*m_gpus, ringOf(*ends[0])));
      }
      if (to == m_world->process()) {
        m_proxy->addReceiver(from, channel, std::make_unique<StampReceiver>(*m_gpus, ringOf(*ends[1])));
      }
    }
  }
  m_proxy->start(static_cast<int>(layout.run.depth));
  return m_world->gate();
}

// ---- running

RunResult TeamBackend::run(const RunRequest& request) {
  return m_station.isReady() ? m_loop.run(request, *m_proxy) : unpreparedRun();
}

/// All processes at once: those that share a GPU share its memory's speed. A process that has to stop still takes part.
double TeamBackend::measureMemory(std::stop_token /*stop*/) {
  if (!m_world->gate()) {
    return 0;
  }
  double own = 0;
  for (int device = 0; device < m_gpus->count(); ++device) {
    own += m_gpus->measureCopies(device);
  }
  const auto all = m_world->sum(static_cast<std::int64_t>(own));
  return all ? static_cast<double>(*all) : 0;
}

// ---- opening

/// Who has what. All processes call it; all fail or none.
Result<Team> formTeam(MpiWorld& world, const Result<GpuChoice>& choice, const BackendOptions& options) {
  const std::vector<int> processOfRank = spreadRanks(options.ranks, world.processes());
  const bool hasRanks = std::find(processOfRank.begin(), processOfRank.end(), world.process()) != processOfRank.end();
  const Outcome able = choice || !hasRanks ? Outcome(Done{}) : Outcome(choice.error());
  if (const Outcome agreed = world.agree(able); !agreed) {
    return agreed.error();
  }
  auto team = Team::gather(world, choice ? choice->identities : std::vector<std::string>(), options.ranks);
  if (!team) {
    return team.error();
  }
  world.setNames(team->names());
  if (team->mostRanksOnGpu() > 1 && !options.virtualRanks) {
    return Error{.code = ErrorCode::unavailable,
                 .message = std::to_string(options.ranks) + " ranks, and " + counted(team->usedGpus(), "GPU") +
                            " for them in " + std::to_string(world.processes()) + " processes",
                 .fix = "--virtual lets ranks share GPUs: a rehearsal, which shows correctness, not bandwidth"};
  }
  return team;
}

/// Those that the team gives this process. All processes call it; all fail or none.
Result<std::unique_ptr<Gpus>> openSeats(MpiWorld& world, const Result<GpuChoice>& choice, const Team& team) {
  auto gpus = choice ? choice->open(team.seatsOf(world.process())) : Result<std::unique_ptr<Gpus>>(choice.error());
  if (const Outcome agreed = world.agree(gpus ? Outcome(Done{}) : Outcome(gpus.error())); !agreed) {
    return agreed.error();
  }
  return gpus;
}

}  // namespace

Result<std::unique_ptr<Backend>> makeTeamBackend(std::unique_ptr<MpiWorld> world, Result<GpuChoice> choice,
                                                 const BackendOptions& options, const Tuning& tuning) {
  return withinMemory(
      [&]() -> Result<std::unique_ptr<Backend>> {
        auto team = formTeam(*world, choice, options);
        if (!team) {
          return team.error();
        }
        auto gpus = openSeats(*world, choice, *team);
        if (!gpus) {
          return gpus.error();
        }
        return openedBackend<TeamBackend>([](TeamBackend& made) { return made.open(); }, std::move(world),
                                          *std::move(team), *std::move(gpus), tuning);
      },
      "for the GPU backend");
}

}  // namespace coppice::executor::cuda
