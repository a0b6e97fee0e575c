// SPDX-License-Identifier: Apache-2.0
#include "cuda/team_backend.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "base/checked.hpp"
#include "cuda/opened_backend.hpp"
#include "cuda/pause.hpp"
#include "cuda/seats.hpp"
#include "cuda/stamp_ends.hpp"
#include "cuda/station.hpp"
#include "mpi/record.hpp"

namespace coppice::executor::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using program::RunExit;

/// Memory that other processes map comes in pieces that the driver shares with nothing else.
constexpr std::int64_t kShareUnit = std::int64_t{2} << 20;
/// Rings that the main thread of a process serves; more strands would keep it from each.
constexpr std::int64_t kMaxNetworkRings = 128;
constexpr std::int64_t kNetworkPieceBytes = std::int64_t{64} << 10;
constexpr int kSpins = 64;  // looks before the main thread sleeps between two
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kFaultPause = std::chrono::milliseconds(500);  // a fault may come of a neighbour's death

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

bool isSet(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::atoi(text) != 0;
}

/// "rank 3", "ranks 4 to 7".
std::string nameRanks(int first, int count) {
  return count == 1 ? "rank " + std::to_string(first)
                    : "ranks " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

class TeamBackend : public Backend {
public:
  TeamBackend(std::unique_ptr<MpiWorld> world, const BackendOptions& options, const Tuning& tuning)
      : m_world(std::move(world)), m_ranks(options.ranks), m_tuning(tuning), m_watch(m_world->watchComm()) {}
  ~TeamBackend() override;
  Outcome open(Result<GpuChoice> choice, bool sharesGpus);

  BackendInfo info() const override;
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override;
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override;
  Outcome prepare(const Plan& plan, const Geometry& geometry) override;
  std::vector<int> localRanks() const override { return m_station->localRanks(); }
  RankBuffers buffers(int /*rank*/) override { return {}; }
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) override {
    return m_station->isReady() ? m_station->write(rank, kind, offset, data)
                                : Outcome(Error{.message = "data before the preparation"});
  }
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) override {
    return m_station->isReady() ? m_station->read(rank, kind, offset, data)
                                : Outcome(Error{.message = "data before the preparation"});
  }
  std::int64_t damagedGuards() override { return m_station->isReady() ? m_station->damagedGuards() : 0; }
  RunResult run(const RunRequest& request) override;
  void abort() noexcept override { m_isAborted.store(true); }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override {
    return m_station->takeTrace(m_origin, dropped);
  }
  double measureMemory(std::stop_token stop) override;

  int processes() const override { return m_world->processes(); }
  int process() const override { return m_world->process(); }
  std::optional<RunExit> brokenBy() const override { return m_world->brokenBy(); }
  Result<std::int64_t> sum(std::int64_t value) override { return m_world->sum(value); }
  Result<double> max(double value) override { return m_world->max(value); }
  Outcome barrier() override { return m_world->gate(); }
  Result<std::vector<std::string>> gather(const std::string& lines) override { return m_world->gather(lines); }

private:
  // ---- opening
  Outcome takeSeats(Result<GpuChoice> choice, bool sharesGpus);
  Outcome exchangeDeviceMemory();
  /// Which devices of other processes can be mapped, tried out. @return the first reason why one cannot
  Result<std::string> tryNeighbours();
  Outcome offerTokens(std::string& offers, std::string& why);
  [[nodiscard]] std::string takeTokens(int device, const std::vector<std::string>& offers, std::vector<bool>& row);
  [[nodiscard]] Crew crewFor(int ranks) const;
  [[nodiscard]] std::int64_t maxStrandsFor(const Plan& plan, const Crew& crew) const;

  // ---- preparing
  /// Collective: exchanges what is in the arenas of others. All must call it.
  Outcome regrow(const Station::Layout& layout);
  Outcome exchange();
  void unmap();
  Outcome shareHostMemory(const Station::Layout& layout);
  void closeProxy();
  Outcome startProxy();

  // ---- running
  /// Starts something on the devices, and continues when all processes have finished. @return false where the run ends
  template <typename Start>
  bool phase(Start start);
  bool lookAt(Clock::time_point now, bool isDone);
  void declare(Verdict what, int culprit);
  void stopBlocks();
  RunResult finish(RunTimes times);
  Outcome settle(Verdict& agreed);
  RunFailure explainEnd(Verdict what);

  std::unique_ptr<MpiWorld> m_world;
  int m_ranks;
  Tuning m_tuning;
  std::unique_ptr<Gpus> m_gpus;
  std::unique_ptr<Station> m_station;

  // Known of all processes.
  std::vector<SeatRequest> m_requests;
  std::vector<std::vector<int>> m_seats;
  std::vector<int> m_hostOfProcess;
  std::vector<DeviceRoom> m_rooms;     ///< by device of the run
  std::map<std::string, int> m_kinds;  ///< GPUs of the run by what they are
  Reach m_reach;
  std::string m_whyNotMapped;

  Neighbourhood m_neighbours;
  SharedSegment m_shared;
  std::unique_ptr<Proxy> m_proxy;
  Watch m_watch;

  // Of the run under way.
  RunRequest m_request;
  Verdict m_verdict = Verdict::none;
  int m_culprit = -1;
  std::optional<StrandWords> m_standings;  ///< when the verdict fell
  std::optional<Error> m_fault;            ///< of this process
  Clock::time_point m_faultTime;
  std::optional<StallWatch> m_stall;
  bool m_isStuck = false;  ///< blocks here wait, and nothing has changed for long
  std::int64_t m_waiting = 0;
  Clock::time_point m_looked;
  Clock::time_point m_searched;
  Clock::time_point m_moved;
  std::uint64_t m_messages = 0;
  std::uint64_t m_phases = 0;
  MPI_Request m_barrier = MPI_REQUEST_NULL;
  bool m_isInBarrier = false;
  std::int64_t m_barriers = 0;  ///< started in this run
  std::int64_t m_origin = 0;
  std::atomic<bool> m_isAborted = false;
  bool m_isLost = false;
  bool m_isOpen = false;  ///< in all processes
};

TeamBackend::~TeamBackend() {
  if (!m_station) {
    return;
  }
  m_station->closeAbort();
  const bool isWhole = !m_world->isBroken() && m_isOpen;
  if (isWhole) {
    closeProxy();
  }
  m_proxy.reset();
  if (m_isLost) {
    m_gpus->forget();  // whatever waits for the kernel would wait forever
  } else {
    unmap();
  }
  if (isWhole) {
    (void)m_world->gate();  // no process releases what another one has mapped
  }
  if (m_shared.data() != nullptr && !m_isLost) {
    m_gpus->unpin(m_shared.data());
  }
}

// ---- opening

Outcome TeamBackend::open(Result<GpuChoice> choice, bool sharesGpus) {
  if (Outcome seated = takeSeats(std::move(choice), sharesGpus); !seated) {
    return seated;
  }
  Outcome ready = m_station->openAbort();
  // For the choice of pieces; prepare asks again for the actual type.
  ready = ready ? m_station->load(DataType::float32) : ready;
  if (Outcome agreed = m_world->agree(ready); !agreed) {
    return agreed;
  }
  if (Outcome told = exchangeDeviceMemory(); !told) {
    return told;
  }
  auto why = tryNeighbours();
  if (!why) {
    return why.error();
  }
  m_whyNotMapped = *std::move(why);
  m_station->join(crewFor(m_ranks), m_world->process(), kShareUnit);
  m_isOpen = true;
  return Done{};
}

Outcome TeamBackend::takeSeats(Result<GpuChoice> choice, bool sharesGpus) {
  const std::vector<int> processOfRank = spreadRanks(m_ranks, m_world->processes());
  std::string own;
  put(own, static_cast<std::int32_t>(m_world->neighbours().front()));
  if (choice) {
    for (const std::string& identity : choice->identities) {
      putText(own, identity);
    }
  }
  const int ownRanks = static_cast<int>(std::count(processOfRank.begin(), processOfRank.end(), m_world->process()));
  if (Outcome agreed = m_world->agree(choice || ownRanks == 0 ? Outcome(Done{}) : Outcome(choice.error())); !agreed) {
    return agreed;
  }
  const auto all = m_world->gatherAll(own);
  if (!all) {
    return all.error();
  }
  std::vector<std::int32_t> leaders;
  std::vector<std::string> names;
  for (std::size_t process = 0; process < all->size(); ++process) {
    std::string_view rest = (*all)[process];
    std::int32_t leader = 0;
    take(rest, leader);
    SeatRequest& request = m_requests.emplace_back();
    for (std::string identity; takeText(rest, identity);) {
      request.gpus.push_back(identity);
    }
    const auto first = std::find(processOfRank.begin(), processOfRank.end(), static_cast<int>(process));
    request.ranks = static_cast<int>(std::count(first, processOfRank.end(), static_cast<int>(process)));
    auto known = std::find(leaders.begin(), leaders.end(), leader);
    if (known == leaders.end()) {
      known = leaders.insert(known, leader);
    }
    m_hostOfProcess.push_back(static_cast<int>(known - leaders.begin()));
    names.push_back(request.ranks == 1 ? nameRanks(static_cast<int>(first - processOfRank.begin()), 1)
                    : request.ranks > 1
                        ? "the process of " + nameRanks(static_cast<int>(first - processOfRank.begin()), request.ranks)
                        : "process " + std::to_string(process) + ", without ranks,");
  }
  m_world->setNames(std::move(names));
  m_seats = seatProcesses(m_requests);
  const int used = countUsed(m_requests, m_seats);
  if (maxRanksOnGpu(m_requests, m_seats) > 1 && !sharesGpus) {
    return Error{.code = ErrorCode::unavailable,
                 .message = std::to_string(m_ranks) + " ranks, and " + std::to_string(used) +
                            (used == 1 ? " GPU" : " GPUs") + " for them in " + std::to_string(m_world->processes()) +
                            " processes",
                 .fix = "--virtual lets ranks share GPUs: a rehearsal, which shows correctness, not bandwidth"};
  }
  Outcome opened = Done{};
  if (choice) {
    auto gpus = choice->open(m_seats[m_world->process()]);
    if (gpus) {
      m_gpus = *std::move(gpus);
      m_station = std::make_unique<Station>(*m_gpus);
      m_station->shareDevices(processesOnGpus(m_requests, m_seats, m_world->process()));
    } else {
      opened = gpus.error();
    }
  } else {
    opened = choice.error();
  }
  return m_world->agree(opened);
}

Outcome TeamBackend::exchangeDeviceMemory() {
  const std::map<std::string, std::string> facts = m_gpus->facts();
  std::string own;
  for (int device = 0; device < m_gpus->count(); ++device) {
    const auto described = facts.find(m_gpus->name(device));
    put(own, m_station->rooms()[device]);
    putText(own, described == facts.end() ? std::string() : described->second);
  }
  const auto all = m_world->gatherAll(own);
  if (!all) {
    return all.error();
  }
  std::set<std::string> counted;
  for (std::size_t process = 0; process < all->size(); ++process) {
    std::string_view rest = (*all)[process];
    for (const int seat : m_seats[process]) {
      DeviceRoom room;
      std::string kind;
      if (!take(rest, room) || !takeText(rest, kind)) {
        return Error{.code = ErrorCode::internal,
                     .message = "process " + std::to_string(process) + " did not report its limits"};
      }
      m_rooms.push_back(room);
      if (counted.insert(m_requests[process].gpus[seat]).second) {
        ++m_kinds[kind];
      }
    }
  }
  return Done{};
}

/// What a process writes into each of its devices before the others look.
struct Token {
  std::uint64_t word = 0;
  ArenaTicket ticket = {};
};

Outcome TeamBackend::offerTokens(std::string& offers, std::string& why) {
  for (int device = 0; device < m_gpus->count(); ++device) {
    Token token = {.word = randomWord()};
    if (Outcome reserved = m_gpus->reserve(device, Arena::control, kShareUnit); !reserved) {
      return reserved;
    }
    if (Outcome written =
            m_gpus->copyTo(device, m_gpus->memory(device, Arena::control).data, &token.word, sizeof(token.word));
        !written) {
      return written;
    }
    const auto ticket = m_gpus->offer(device, Arena::control);
    if (!ticket) {
      // Then no process can map it, and everything goes through host memory.
      offers.clear();
      why = ticket.error().message;
      return Done{};
    }
    token.ticket = *ticket;
    put(offers, token);
  }
  return Done{};
}

std::string TeamBackend::takeTokens(int device, const std::vector<std::string>& offers, std::vector<bool>& row) {
  std::string why;
  std::size_t at = 0;
  for (std::size_t process = 0; process < offers.size(); ++process) {
    const bool isNeighbour = m_hostOfProcess[process] == m_hostOfProcess[m_world->process()];
    std::string_view rest = offers[process];
    for (std::size_t of = 0; of < m_seats[process].size(); ++of, ++at) {
      Token token;
      if (static_cast<int>(process) == m_world->process()) {
        row[at] = m_gpus->reach()[device][of];
        continue;
      }
      if (!isNeighbour) {
        continue;
      }
      if (!take(rest, token)) {
        why = why.empty() ? "process " + std::to_string(process) + " cannot share memory of its GPU" : why;
        continue;
      }
      const auto memory = m_gpus->take(device, token.ticket, kShareUnit);
      if (!memory) {
        why = why.empty() ? memory.error().message : why;
        continue;
      }
      std::uint64_t word = 0;
      const bool isRead = static_cast<bool>(m_gpus->copyFrom(device, &word, *memory, sizeof(word)));
      m_gpus->giveBack(device, *memory);
      row[at] = isRead && word == token.word;
      if (!row[at] && why.empty()) {
        why = "mapped memory of process " + std::to_string(process) + " does not show what it wrote";
      }
    }
  }
  return why;
}

Result<std::string> TeamBackend::tryNeighbours() {
  const auto forbidden = m_world->sum(isSet("COPPICE_EXEC_NO_PEER") ? 1 : 0);
  if (!forbidden) {
    return forbidden.error();
  }
  std::string offers;
  std::string why = *forbidden > 0 ? "COPPICE_EXEC_NO_PEER is set" : "";
  const Outcome offered = *forbidden > 0 ? Outcome(Done{}) : offerTokens(offers, why);
  if (const Outcome agreed = m_world->agree(offered); !agreed) {
    return agreed.error();
  }
  const auto all = m_world->gatherAll(offers);
  if (!all) {
    return all.error();
  }
  std::string own;
  for (int device = 0; device < m_gpus->count(); ++device) {
    std::vector<bool> row(m_rooms.size(), false);
    std::string reason = takeTokens(device, *all, row);
    why = why.empty() ? std::move(reason) : why;
    for (const bool reaches : row) {
      own += reaches ? '1' : '0';
    }
  }
  // Also keeps what is offered until everybody has looked.
  const auto rows = m_world->gatherAll(own);
  const auto reasons = rows ? m_world->gatherAll(why) : rows;
  if (!reasons) {
    return reasons.error();
  }
  for (std::size_t process = 0; process < rows->size(); ++process) {
    const std::string& cells = (*rows)[process];
    for (std::size_t at = 0; at + m_rooms.size() <= cells.size() && !m_rooms.empty(); at += m_rooms.size()) {
      std::vector<bool>& row = m_reach.emplace_back();
      for (std::size_t cell = 0; cell < m_rooms.size(); ++cell) {
        row.push_back(cells[at + cell] == '1');
      }
    }
  }
  const auto said =
      std::find_if(reasons->begin(), reasons->end(), [](const std::string& text) { return !text.empty(); });
  return said == reasons->end() ? std::string() : *said;
}

/// Ranks are dealt out to processes, and those of a process to its devices, always in order.
Crew TeamBackend::crewFor(int ranks) const {
  Crew crew;
  crew.hostOfProcess = m_hostOfProcess;
  crew.reach = m_reach;
  const std::vector<int> processOfRank = spreadRanks(ranks, m_world->processes());
  for (int process = 0; process < m_world->processes(); ++process) {
    const int first = crew.devices();
    const auto devices = static_cast<int>(m_seats[process].size());
    crew.processOfDevice.insert(crew.processOfDevice.end(), static_cast<std::size_t>(devices), process);
    const auto own = static_cast<int>(std::count(processOfRank.begin(), processOfRank.end(), process));
    for (const int device : spreadRanks(own, std::max(devices, 1))) {
      crew.deviceOfRank.push_back(first + device);
    }
  }
  return crew;
}

BackendInfo TeamBackend::info() const {
  const auto count = [](int number, const std::string& noun, const std::string& nouns) {
    return std::to_string(number) + " " + (number == 1 ? noun : nouns);
  };
  const int used = countUsed(m_requests, m_seats);
  const int hosts = m_world->isForced() ? 1 : m_world->hosts();
  BackendInfo info = {.name = "cuda",
                      .summary = count(m_ranks, "rank", "ranks") + " on " + count(used, "GPU", "GPUs") + " in " +
                                 count(m_world->processes(), "process", "processes") + " on " +
                                 count(hosts, "host", "hosts"),
                      .facts = m_gpus->facts()};
  for (int device = 0; device < m_gpus->count(); ++device) {
    info.facts.erase(m_gpus->name(device));  // among all GPUs of the run
  }
  for (const auto& [kind, number] : m_kinds) {
    std::string& all = info.facts["GPUs"];
    all += (all.empty() ? "" : "; ") + std::to_string(number) + " x " + kind;
  }
  if (maxRanksOnGpu(m_requests, m_seats) > 1) {
    info.label = kRehearsal;
  } else if (m_world->isForced()) {
    info.label = "memory of other processes switched off: every message goes through MPI";
  }
  info.facts["half and bfloat16"] = "reduced in float at each step";
  info.facts["mpi"] = m_world->library();
  info.facts["processes"] = std::to_string(m_world->processes());
  info.facts["hosts"] = std::to_string(hosts);
  info.facts["timing"] = "events on each GPU; processes meet before each iteration";
  const Crew crew = crewFor(m_ranks);
  int mapped = 0;
  int shared = 0;
  int networked = 0;
  for (int a = 0; a < crew.devices(); ++a) {
    for (int b = a + 1; b < crew.devices(); ++b) {
      const auto first = static_cast<std::size_t>(a);
      const auto second = static_cast<std::size_t>(b);
      const auto from = static_cast<std::size_t>(crew.processOfDevice[first]);
      const auto to = static_cast<std::size_t>(crew.processOfDevice[second]);
      const bool isDirect = m_reach[first][second] && m_reach[second][first];
      if (from != to) {
        (isDirect ? mapped : m_hostOfProcess[from] == m_hostOfProcess[to] ? shared : networked) += 1;
      }
    }
  }
  std::string paths;
  const auto add = [&](int pairs, const std::string& how) {
    if (pairs > 0) {
      paths += (paths.empty() ? "" : "; ") + how + " for " + count(pairs, "pair", "pairs") + " of GPUs";
    }
  };
  add(mapped, "mapped memory of the other GPU");
  add(shared, "host memory that both processes share");
  add(networked, "host memory of each process, and MPI");
  if (!paths.empty()) {
    info.facts["between processes"] = paths;
  }
  if (shared > 0 && !m_whyNotMapped.empty()) {
    info.facts["not mapped because"] = m_whyNotMapped;
  }
  return info;
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
  const auto layout = m_station->layOut(plan, geometry, crewFor(plan.rankCount()), 1);
  if (!layout) {
    return {};  // prepare says why
  }
  MemoryNeed need;
  for (std::size_t device = 0; device < layout->sizes.arenas.size(); ++device) {
    need.deviceBytes = std::max(need.deviceBytes, layout->sizes.onDevice(device));
  }
  const auto neighbours = static_cast<std::int64_t>(m_world->neighbours().size());
  need.hostBytes =
      checkedAdd(layout->sizes.shared(),
                 checkedMul(neighbours, checkedAdd(checkedAdd(layout->sizes.progress, layout->sizes.privateRings),
                                                   layout->sizes.usesPrivate ? layout->sizes.control : 0)));
  return need;
}

/// The same in every process, whatever its own GPUs are.
std::int64_t TeamBackend::pieceBytes(const Plan& plan, DataType /*type*/, std::int64_t bytes) const {
  const Crew crew = crewFor(plan.rankCount());
  const std::int64_t strands = maxStrandsFor(plan, crew);
  const auto shape = chooseShape(blocksOnDevices(plan, crew.deviceOfRank, crew.devices()), m_rooms, strands);
  const std::int64_t piece = choosePiece(plan, bytes, shape ? shape->strands : 1);
  return m_world->isNetworked() ? std::max(piece, kNetworkPieceBytes) : piece;
}

Outcome TeamBackend::prepare(const Plan& plan, const Geometry& geometry) {
  if (m_world->isBroken()) {
    return Error{.code = ErrorCode::internal, .message = "a rank was lost in the run before"};
  }
  closeProxy();
  m_station->drop();
  m_station->join(crewFor(plan.rankCount()), m_world->process(), kShareUnit);
  std::optional<Station::Layout> layout;
  const auto layOut = [&](auto how) -> Outcome {
    if (m_isLost) {
      return Error{.code = ErrorCode::internal, .message = "a kernel of an earlier run has not finished"};
    }
    return withinMemory([&]() -> Outcome {
      auto made = how();
      if (!made) {
        return made.error();
      }
      layout = *std::move(made);
      return Done{};
    });
  };
  const Outcome loaded = m_station->load(geometry.type);
  const Outcome fits =
      loaded ? layOut([&] { return m_station->layOutWithin(plan, geometry, maxStrandsFor(plan, m_station->crew())); })
             : loaded;
  if (Outcome agreed = m_world->agree(fits); !agreed) {
    return agreed;
  }
  // A strand is one everywhere or nowhere.
  const auto fewest = m_world->max(-static_cast<double>(layout->run.strands));
  if (!fewest) {
    return fewest.error();
  }
  const auto strands = static_cast<std::int64_t>(-*fewest);
  if (Outcome agreed = m_world->agree(layOut([&] { return m_station->layOut(plan, geometry, strands); })); !agreed) {
    return agreed;
  }
  if (Outcome ready = regrow(*layout); !ready) {
    return ready;
  }
  if (layout->sizes.usesShared && m_world->seat() == 0) {
    std::memset(m_shared.data(), 0, static_cast<std::size_t>(layout->sizes.control));
  }
  const Outcome settled =
      withinMemory([&] { return m_station->settle(plan, geometry, *std::move(layout), m_neighbours); });
  if (Outcome agreed = m_world->agree(settled); !agreed) {
    m_station->drop();
    return agreed;
  }
  return startProxy();
}

Outcome TeamBackend::regrow(const Station::Layout& layout) {
  // Either all processes keep what others have mapped, or all map it again.
  const bool lacks = m_station->mustGrow(layout) || layout.sizes.shared() > m_shared.size();
  const auto lacking = m_world->sum(lacks || (m_neighbours.arenas.empty() && m_gpus->count() > 0) ? 1 : 0);
  if (!lacking) {
    return lacking.error();
  }
  if (*lacking > 0) {
    unmap();
    if (Outcome unmapped = m_world->gate(); !unmapped) {
      return unmapped;
    }
  }
  if (Outcome agreed = m_world->agree(m_station->reserve(layout)); !agreed) {
    return agreed;
  }
  if (*lacking == 0) {
    return Done{};
  }
  if (Outcome exchanged = exchange(); !exchanged) {
    return exchanged;
  }
  return shareHostMemory(layout);
}

void TeamBackend::unmap() {
  for (std::size_t device = 0; device < m_neighbours.arenas.size(); ++device) {
    for (auto& arenas : m_neighbours.arenas[device]) {
      for (unsigned char* memory : arenas) {
        if (memory != nullptr) {
          m_gpus->giveBack(static_cast<int>(device), memory);
        }
      }
    }
  }
  m_neighbours.arenas.clear();
}

Outcome TeamBackend::exchange() {
  struct Offer {
    std::int64_t bytes = 0;
    ArenaTicket ticket = {};
  };
  std::string own;
  Outcome offered = Done{};
  const auto& reach = m_station->crew().reach;
  const auto isMapped = [&](int a, int b) { return reach[a][b] && reach[b][a]; };
  const auto processOf = [&](int device) { return m_station->crew().processOfDevice[device]; };
  const int devices = m_station->crew().devices();
  for (int device = 0; device < m_gpus->count(); ++device) {
    bool isWanted = false;
    for (int other = 0; other < devices; ++other) {
      isWanted = isWanted || (processOf(other) != m_world->process() && isMapped(other, m_station->place(device)));
    }
    for (int arena = 0; arena < kSharedArenas; ++arena) {
      Offer offer = {.bytes = isWanted ? m_gpus->memory(device, static_cast<Arena>(arena)).bytes : 0};
      if (offer.bytes > 0 && offered) {
        const auto ticket = m_gpus->offer(device, static_cast<Arena>(arena));
        offered = ticket ? Outcome(Done{}) : Outcome(ticket.error());
        offer.ticket = ticket ? *ticket : ArenaTicket();
      }
      put(own, offer);
    }
  }
  if (Outcome agreed = m_world->agree(offered); !agreed) {
    return agreed;
  }
  const auto all = m_world->gatherAll(own);
  if (!all) {
    return all.error();
  }
  std::string everything;
  for (const std::string& theirs : *all) {
    everything += theirs;
  }
  Outcome taken = Done{};
  for (int device = 0; device < m_gpus->count(); ++device) {
    auto& row = m_neighbours.arenas.emplace_back(static_cast<std::size_t>(devices));
    std::string_view rest = everything;
    for (int other = 0; other < devices; ++other) {
      for (unsigned char*& memory : row[other]) {
        memory = nullptr;
        Offer offer;
        take(rest, offer);
        if (processOf(other) == m_world->process() || !isMapped(m_station->place(device), other) || offer.bytes == 0 ||
            !taken) {
          continue;
        }
        const auto mapped = m_gpus->take(device, offer.ticket, offer.bytes);
        taken = mapped ? Outcome(Done{}) : Outcome(mapped.error());
        memory = mapped ? *mapped : nullptr;
      }
    }
  }
  return m_world->agree(taken);
}

Outcome TeamBackend::shareHostMemory(const Station::Layout& layout) {
  const auto wanted = m_world->sum(layout.sizes.shared() > m_shared.size() ? 1 : 0);
  if (!wanted || *wanted == 0) {
    return wanted ? Outcome(Done{}) : Outcome(wanted.error());
  }
  if (m_shared.data() != nullptr) {
    m_gpus->unpin(m_shared.data());
    m_shared = {};
  }
  m_neighbours.shared = nullptr;
  auto segment = m_world->share(std::max<std::int64_t>(layout.sizes.shared(), 1));
  if (!segment) {
    return segment.error();
  }
  // A segment without an owner needs no unpinning.
  Outcome pinned = m_gpus->count() > 0 ? m_gpus->pin(segment->data(), segment->size()) : Outcome(Done{});
  if (pinned) {
    m_shared = std::move(*segment);
    m_neighbours.shared = reinterpret_cast<unsigned char*>(m_shared.data());
  }
  return m_world->agree(pinned);
}

void TeamBackend::closeProxy() {
  if (m_proxy) {
    m_proxy->stop();
    m_proxy.reset();
  }
}

Outcome TeamBackend::startProxy() {
  const Plan& plan = m_station->plan();
  const Station::Layout& layout = m_station->layout();
  const Placement& placement = layout.placement;
  const Addresses& addresses = m_station->addresses();
  const ControlLayout control = layOutControl(plan, static_cast<int>(layout.run.depth));
  m_proxy = std::make_unique<Proxy>(m_world->comm());
  std::map<std::pair<int, int>, int> channels;  // numbers given out between two processes
  for (std::size_t index = 0; index < plan.connections.size(); ++index) {
    const ConnectionEnd* ends[] = {&placement.sendEnd[index], &placement.recvEnd[index]};
    if (!placement.isNetworked[index] || ends[0]->ring < 0) {
      continue;
    }
    const int from = m_station->crew().processOf(plan.connections[index].sendRank);
    const int to = m_station->crew().processOf(plan.connections[index].recvRank);
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

void TeamBackend::declare(Verdict what, int culprit) {
  if (m_verdict == Verdict::none) {
    m_verdict = what;
    m_culprit = culprit;
    m_standings = m_station->standings();  // before the blocks are stopped
  }
}

/// Looks after the blocks, the neighbours and the word of process 0. @return whether the run continues
bool TeamBackend::lookAt(Clock::time_point now, bool isDone) {
  if (now - m_looked >= kLook) {
    m_looked = now;
    const ProgressWords words = m_station->progress();
    const auto local = m_stall->look(words, seconds(now.time_since_epoch()));
    m_waiting = countWaiting(words);
    m_isStuck = local == StallWatch::Verdict::deadlock && seconds(now - m_moved) >= m_tuning.deadlockSeconds;
  }
  if (now - m_searched >= kTick) {
    m_searched = now;
    char state = 'R';
    if (const int process = m_world->findLost(state); process >= 0) {
      declare(Verdict::lost, process);
    }
  }
  const bool gaveUp = m_fault && now - m_faultTime >= kFaultPause;
  const Standing own = {.isIdle = isDone || m_isStuck ? 1 : 0,
                        .waits = isDone ? 0 : m_waiting,
                        .wantsStop = m_isAborted.load() || gaveUp ? 1 : 0,
                        .progress = m_stall->changes() + m_messages + m_phases,
                        .handed = m_proxy->handed(),
                        .taken = m_proxy->taken()};
  if (const Verdict given = m_watch.poll(own); given != Verdict::none) {
    declare(given, m_watch.culprit());
  }
  return m_verdict == Verdict::none;
}

template <typename Start>
bool TeamBackend::phase(Start start) {
  const auto fail = [this](const Error& error) {
    if (!m_fault) {
      m_fault = error;
      m_faultTime = Clock::now();
    }
  };
  if (!m_fault) {
    if (const Outcome started = start(); !started) {
      fail(started.error());
    }
  }
  m_stall.emplace(0, m_tuning.deadlockSeconds);
  m_isStuck = false;
  bool isDone = false;
  Pause pause;
  for (int idle = 0; true; ++idle) {
    if (m_proxy->poll()) {
      ++m_messages;
      m_moved = Clock::now();
      idle = 0;
      pause.restart();
    }
    if (!isDone && !m_fault) {
      const auto done = m_gpus->isDone(0);
      if (!done) {
        fail(done.error());
      }
      isDone = done && *done;
    }
    if (isDone && !m_isInBarrier) {
      MPI_Ibarrier(m_world->comm(), &m_barrier);
      m_isInBarrier = true;
      ++m_barriers;
    }
    if (m_isInBarrier) {
      int passed = 0;
      MPI_Test(&m_barrier, &passed, MPI_STATUS_IGNORE);
      if (passed != 0) {
        m_isInBarrier = false;
        ++m_phases;
        return true;
      }
    }
    if (!lookAt(Clock::now(), isDone)) {
      stopBlocks();
      return false;
    }
    if (idle >= kSpins) {
      pause.rest();
    }
  }
}

void TeamBackend::stopBlocks() {
  m_station->setAbort(1);
  const Clock::time_point told = Clock::now();
  for (Pause pause; true;) {
    const auto done = m_gpus->isDone(0);
    if (!done) {
      m_fault = m_fault ? m_fault : std::optional(done.error());
      return;
    }
    if (*done) {
      return;
    }
    if (seconds(Clock::now() - told) > kStopSeconds) {
      m_isLost = true;
      m_fault = Error{.code = ErrorCode::internal,
                      .message = "the kernel did not end within " + std::to_string(static_cast<int>(kStopSeconds)) +
                                 " s of being stopped",
                      .fix = "look at the system log for errors of the GPU"};
      return;
    }
    pause.rest();
  }
}

RunResult TeamBackend::run(const RunRequest& request) {
  if (!m_station->isReady()) {
    return RunFailure{.error = {.message = "a run before its preparation"}, .stuck = {}};
  }
  const auto broken = [this](const Error& error) {
    return RunFailure{.exit = m_world->brokenBy().value_or(RunExit::rankLost), .error = error, .stuck = {}};
  };
  m_request = request;
  m_world->setPatience(request.stallSeconds);
  m_isAborted = false;
  m_verdict = Verdict::none;
  m_culprit = -1;
  m_standings.reset();
  m_fault.reset();
  m_barriers = 0;
  if (const Outcome outcome = m_world->gate(); !outcome) {
    return broken(outcome.error());
  }
  m_watch.begin(request.stallSeconds);
  if (const Outcome begun = m_station->begin(request); !begun) {
    m_fault = begun.error();
    m_faultTime = Clock::now();
  }
  if (const Outcome outcome = m_world->gate(); !outcome) {
    return broken(outcome.error());
  }
  const std::stop_callback onStop(request.stop, [this] { abort(); });
  const Clock::time_point now = Clock::now();
  m_origin = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  m_looked = now;
  m_searched = now;
  m_moved = now;
  RunTimes times;
  for (int iteration = 0; iteration < request.iterations && m_verdict == Verdict::none; ++iteration) {
    bool goesOn = phase([this] { return m_station->launch(0, true); });
    if (goesOn && m_station->divides()) {
      // Others may read a result until their own blocks have ended.
      goesOn = phase([this] { return m_station->divide(0); });
    }
    if (goesOn && !m_fault) {
      const auto time = m_gpus->seconds(0, 0);
      if (!time) {
        m_fault = time.error();
        m_faultTime = Clock::now();
        continue;
      }
      times.seconds.push_back(*time);
      times.total += *time;
    }
  }
  return finish(std::move(times));
}

/// All processes that are alive agree on how the run ended.
Outcome TeamBackend::settle(Verdict& agreed) {
  const auto max = m_world->max(static_cast<double>(m_barriers));
  if (!max) {
    return max.error();
  }
  if (m_isInBarrier) {
    MPI_Wait(&m_barrier, MPI_STATUS_IGNORE);
    m_isInBarrier = false;
  }
  for (; m_barriers < static_cast<std::int64_t>(*max); ++m_barriers) {
    MPI_Barrier(m_world->comm());
  }
  agreed = m_watch.end();
  return Done{};
}

RunResult TeamBackend::finish(RunTimes times) {
  Verdict agreed = m_verdict;
  if (agreed != Verdict::lost && agreed != Verdict::stall) {
    if (const Outcome outcome = settle(agreed); !outcome) {
      return RunFailure{.exit = m_world->brokenBy().value_or(RunExit::rankLost), .error = outcome.error(), .stuck = {}};
    }
  }
  if (agreed == Verdict::lost || agreed == Verdict::stall) {
    m_station->drop();
    return explainEnd(agreed);
  }
  // What went wrong in one process counts for all.
  const Outcome fine = m_world->agree(m_fault ? Outcome(*m_fault) : Outcome(Done{}));
  if (!fine) {
    m_station->drop();
    return RunFailure{
        .exit = m_world->brokenBy().value_or(program::exitFor(fine.error())), .error = fine.error(), .stuck = {}};
  }
  if (agreed == Verdict::none) {
    return times;
  }
  RunFailure failure = explainEnd(agreed);
  m_station->drop();
  return failure;
}

RunFailure TeamBackend::explainEnd(Verdict what) {
  RunFailure failure;
  if (what == Verdict::cancelled) {
    failure.exit = RunExit::cancelled;
    failure.error = {.code = ErrorCode::cancelled, .message = "the run was stopped"};
    return failure;
  }
  const Plan& plan = m_station->plan();
  if (what == Verdict::deadlock) {
    StrandWords words = m_standings ? *m_standings : m_station->standings();
    const auto parts = m_world->gatherAll(words.text());
    for (const std::string& part : parts ? *parts : std::vector<std::string>()) {
      words.add(part);
    }
    failure.exit = RunExit::hang;
    failure.stuck = explain(plan, m_station->script(), words, true);
    failure.error = {.code = ErrorCode::verification,
                     .message = failure.stuck->text,
                     .fix = "the schedule itself has a cyclic wait; verify it"};
    return failure;
  }
  const int seat = m_culprit >= 0 ? m_world->seatOf(m_culprit) : -1;
  const char state = seat >= 0 ? processState(m_world->host().seat(seat).pid.load()) : '?';
  failure.exit = what == Verdict::lost ? RunExit::rankLost : RunExit::hang;
  failure.error.code = what == Verdict::lost ? ErrorCode::io : ErrorCode::unavailable;
  const std::string who = m_culprit >= 0 ? m_world->describe(m_culprit, what == Verdict::lost ? 'Z' : state) : "";
  failure.error.message =
      who.empty() ? "nothing has moved for " + std::to_string(std::lround(m_request.stallSeconds)) + " s" : who;
  failure.error.fix = what == Verdict::lost ? "see what ended it" : "look at that process and its host";
  if (what == Verdict::stall && m_standings) {
    failure.stuck = explain(plan, m_station->script(), *m_standings, false);
    if (!who.empty()) {
      failure.stuck->text = who + "; " + failure.stuck->text;
    }
  }
  m_world->giveUp(failure.exit, failure.stuck ? failure.stuck->text : failure.error.message,
                  what == Verdict::stall && m_culprit == 0);
  return failure;
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

}  // namespace

Result<std::unique_ptr<Backend>> makeTeamBackend(std::unique_ptr<MpiWorld> world, Result<GpuChoice> choice,
                                                 const BackendOptions& options, const Tuning& tuning) {
  return openedBackend<TeamBackend>(
      [&](TeamBackend& made) { return made.open(std::move(choice), options.virtualRanks); }, std::move(world), options,
      tuning);
}

}  // namespace coppice::executor::cuda
