// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_world.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <thread>
#include <utility>

#include "engine/pause.hpp"
#include "mpi/last_words.hpp"
#include "mpi/record.hpp"
#include "mpi/waiting.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kSlack = std::chrono::seconds(15);    // for a process on another host to come to a call between runs
constexpr auto kLastWord = std::chrono::seconds(1);  // for process 0 to write its last record

int numberOf(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : static_cast<int>(std::strtol(text, nullptr, 10));
}

template <typename Value>
void reduce(Value& value, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  waitForCall([&](MPI_Request* request) { MPI_Iallreduce(MPI_IN_PLACE, &value, 1, type, op, comm, request); });
}

}  // namespace

Result<std::unique_ptr<MpiWorld>> MpiWorld::start() {
  int isStarted = 0;
  MPI_Initialized(&isStarted);
  if (isStarted != 0) {
    return Error{.code = ErrorCode::internal, .message = "MPI was started twice in one process"};
  }
  // Where it finds more ranks than slots, Open MPI yields in every look for a message, and beside other work a look
  // then takes a turn of that work. The waits here rest by themselves.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
  // The launcher's death ends this process, however it comes about.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int granted = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted) != MPI_SUCCESS) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "MPI could not be started",
                 .fix = "start through mpirun or srun of the same MPI that this program was built with"};
  }
  std::unique_ptr<MpiWorld> world(new MpiWorld());
  if (granted < MPI_THREAD_FUNNELED) {
    return Error{.code = ErrorCode::unavailable, .message = "this MPI library does not support additional threads"};
  }
  if (const Outcome outcome = world->open(); !outcome) {
    return outcome.error();
  }
  return world;
}

Outcome MpiWorld::open() {
  waitForCall([&](MPI_Request* request) { MPI_Comm_idup(MPI_COMM_WORLD, &m_comm, request); });
  waitForCall([&](MPI_Request* request) { MPI_Comm_idup(MPI_COMM_WORLD, &m_watchComm, request); });
  MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(m_watchComm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(m_comm, &m_process);
  MPI_Comm_size(m_comm, &m_processes);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int nameLength = 0;
  MPI_Get_processor_name(name.data(), &nameLength);
  std::vector<char> names(name.size() * static_cast<std::size_t>(m_processes), '\0');
  constexpr int kLength = MPI_MAX_PROCESSOR_NAME;
  waitForCall([&](MPI_Request* request) {
    MPI_Iallgather(name.data(), kLength, MPI_CHAR, names.data(), kLength, MPI_CHAR, m_comm, request);
  });
  for (std::size_t at = 0; at < names.size(); at += name.size()) {
    m_hostNames.emplace_back(&names[at]);
  }
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  m_library = version.data();
  m_library.resize(std::min(m_library.size(), m_library.find_first_of(",\n")));

  int forced = numberOf("COPPICE_EXEC_FORCE_NETWORK");
  reduce(forced, MPI_INT, MPI_MAX, m_comm);
  m_isForced = forced != 0;
  if (m_isForced) {
    MPI_Comm_split(m_comm, m_process / std::max(1, forced), m_process, &m_hostComm);
  } else {
    MPI_Comm_split_type(m_comm, MPI_COMM_TYPE_SHARED, m_process, MPI_INFO_NULL, &m_hostComm);
  }
  int size = 1;
  MPI_Comm_size(m_hostComm, &size);
  MPI_Comm_rank(m_hostComm, &m_seat);
  m_neighbours.assign(size, 0);
  waitForCall([&](MPI_Request* request) {
    MPI_Iallgather(&m_process, 1, MPI_INT, m_neighbours.data(), 1, MPI_INT, m_hostComm, request);
  });
  m_hosts = m_seat == 0 ? 1 : 0;
  reduce(m_hosts, MPI_INT, MPI_SUM, m_comm);
  auto state = share(HostState::bytesFor(size));
  if (!state) {
    return state.error();
  }
  m_state = std::move(*state);
  if (m_seat == 0) {
    HostState* const made = new (m_state.data()) HostState();
    for (int local = 0; local < size; ++local) {
      new (&made->seat(local)) Seat();
    }
  }
  barrier(m_hostComm);
  host().seat(m_seat).pid.store(::getpid());
  barrier(m_hostComm);
  return Done{};
}

MpiWorld::~MpiWorld() {
  if (!isBroken()) {
    const std::int64_t first =
        m_process != 0 && m_state.data() != nullptr && m_neighbours.front() == 0 ? host().seat(0).pid.load() : 0;
    m_state = {};
    for (MPI_Comm* const comm : {&m_hostComm, &m_watchComm, &m_comm}) {
      if (*comm != MPI_COMM_NULL) {
        MPI_Comm_free(comm);
      }
    }
    MPI_Finalize();
    // The launcher ends all ranks as soon as one leaves with a code that is not 0. Process 0 decides.
    const auto end = Clock::now() + kLastWord;
    for (char state = 'R'; first != 0 && state != '-' && state != 'Z' && Clock::now() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      state = processState(first);
    }
    return;
  }
  leave();
}

void MpiWorld::giveUp(program::RunExit why, std::string lastWords, bool isFirstSilent) {
  m_brokenBy = why;
  m_lastWords = std::move(lastWords);
  if (isFirstSilent && m_seat == 0 && m_process != 0 && !std::exchange(m_hasNamedFirst, true)) {
    std::fprintf(stderr, "coppice-exec: %s%s\n", m_lastWords.c_str(), kStillWaits.data());
    std::fflush(stderr);
  }
}

/// MPI cannot be ended without the one that is lost. The launcher ends all ranks when one leaves like this, so process
/// 0, which reports, goes first.
void MpiWorld::leave() {
  if (m_process == 0 || m_state.data() == nullptr) {
    return;
  }
  const bool isFirstHere = m_neighbours.front() == 0;
  const auto stateOfFirst = [&] { return isFirstHere ? processState(host().seat(0).pid.load()) : '?'; };
  const auto isGone = [](char state) { return state == '-' || state == 'Z' || state == 'X'; };
  const char found = stateOfFirst();
  const bool isSpeechless = isGone(found) || found == 'T';
  if (isSpeechless && m_seat == 1) {
    std::fprintf(stderr, "coppice-exec: %s\n", m_lastWords.c_str());
    std::fflush(stderr);
    return;
  }
  const auto end = Clock::now() + kLastWords;
  while (Clock::now() < end && (isSpeechless || !isGone(stateOfFirst()))) {
    std::this_thread::sleep_for(kTick);
  }
  if (!isFirstHere && m_seat == 0 && !m_hasNamedFirst) {
    // Process 0 is elsewhere; should it be what is lost, these are the only words there are.
    std::fprintf(stderr, "coppice-exec: %s\n", m_lastWords.c_str());
  }
}

int MpiWorld::seatOf(int process) const {
  const auto found = std::find(m_neighbours.begin(), m_neighbours.end(), process);
  return found == m_neighbours.end() ? -1 : static_cast<int>(found - m_neighbours.begin());
}

int MpiWorld::findLost(char& state) const {
  for (std::size_t local = 0; local < m_neighbours.size(); ++local) {
    const std::int32_t pid = host().seat(static_cast<int>(local)).pid.load();
    const char now = processState(pid);
    // What cannot be seen (another PID namespace) is left to the launcher.
    if (now == '-' || now == 'Z' || now == 'X') {
      state = now;
      return m_neighbours[local];
    }
  }
  return -1;
}

int MpiWorld::findStopped() const {
  int stopped = -1;
  for (std::size_t local = 0; local < m_neighbours.size(); ++local) {
    const char now = processState(host().seat(static_cast<int>(local)).pid.load());
    stopped = now == 'T' || now == 't' ? m_neighbours[local] : stopped;
  }
  return stopped;
}

std::string MpiWorld::describe(int rank, char state) const {
  const int seat = seatOf(rank);
  const auto named = static_cast<std::size_t>(rank);
  std::string text = named < m_names.size() ? m_names[named] : "rank " + std::to_string(rank);
  if (seat >= 0) {
    text += " (process " + std::to_string(host().seat(seat).pid.load()) + ")";
  } else {
    text += " (on " + m_hostNames[rank] + ")";
  }
  switch (state) {
    case 'T':
    case 't':
      return text + " is stopped by a signal";
    case '-':
    case 'Z':
    case 'X':
      return text + " has died";
    default:
      return text + " does not answer";
  }
}

Outcome MpiWorld::await(MPI_Request& request, int peer) {
  const Clock::time_point start = Clock::now();
  Clock::time_point ticked = start;
  Clock::time_point stoppedSince = Clock::time_point::max();
  for (Pause pause(kYields); true; pause.rest()) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      giveUp(program::RunExit::rankLost, "MPI failed in a call between processes");
      return Error{.code = ErrorCode::internal, .message = m_lastWords};
    }
    if (done != 0) {
      return Done{};
    }
    const Clock::time_point now = Clock::now();
    if (now - ticked < kTick || m_state.data() == nullptr) {
      continue;
    }
    ticked = now;
    // Between runs a process may be busy with its data; a process that waits for process 0 waits for all others too.
    const double limit = m_patience + kSlack.count() * (peer == 0 ? 2 : 1);
    if (peer >= 0 && m_patience > 0 && std::chrono::duration<double>(now - start).count() > limit) {
      giveUp(program::RunExit::hang, describe(peer, '?'), peer == 0);
      return Error{.code = ErrorCode::io, .message = m_lastWords, .fix = "look at that process and its host"};
    }
    if (Outcome alive = lookAround(stoppedSince); !alive) {
      return alive;
    }
  }
}

Outcome MpiWorld::lookAround(Clock::time_point& stoppedSince) {
  char state = 'R';
  if (const int rank = findLost(state); rank >= 0) {
    giveUp(program::RunExit::rankLost, describe(rank, state));
    return Error{.code = ErrorCode::io, .message = m_lastWords, .fix = "see what ended it"};
  }
  const int stopped = findStopped();
  const Clock::time_point now = Clock::now();
  stoppedSince = stopped < 0 ? Clock::time_point::max() : std::min(stoppedSince, now);
  if (stopped >= 0 && m_patience > 0 &&
      std::chrono::duration<double>(now - stoppedSince).count() > stopPatience(m_patience)) {
    giveUp(program::RunExit::hang, describe(stopped, 'T'));
    return Error{.code = ErrorCode::io, .message = m_lastWords, .fix = "resume it, or end it"};
  }
  return Done{};
}

Result<bool> MpiWorld::grow(SharedSegment& segment, std::int64_t bytes) {
  // Either all processes of the job keep what they have, or all get new memory.
  const auto tooSmall = sum(segment.size() < bytes ? 1 : 0);
  if (!tooSmall) {
    return tooSmall.error();
  }
  if (*tooSmall == 0) {
    return false;
  }
  segment = {};
  auto larger = share(bytes);
  if (!larger) {
    return larger.error();
  }
  segment = std::move(*larger);
  return true;
}

Result<SharedSegment> MpiWorld::share(std::int64_t bytes) {
  std::int64_t wanted = bytes;
  reduce(wanted, MPI_INT64_T, MPI_MAX, m_hostComm);
  Error error;
  for (const bool isNamed : {false, true}) {
    SegmentAddress address;
    SharedSegment segment;
    int isRight = 1;
    const auto take = [&](Result<SharedSegment> made) {
      isRight = made ? 1 : 0;
      if (made) {
        segment = std::move(*made);
      } else {
        error = made.error();
      }
    };
    if (m_seat == 0) {
      take(SharedSegment::make(wanted, isNamed));
      address = segment.address();
    }
    int isMade = isRight;
    waitForCall([&](MPI_Request* request) { MPI_Ibcast(&isMade, 1, MPI_INT, 0, m_hostComm, request); });
    waitForCall([&](MPI_Request* request) { MPI_Ibcast(&address, sizeof(address), MPI_BYTE, 0, m_hostComm, request); });
    if (isMade != 0 && m_seat != 0) {
      take(SharedSegment::open(address, wanted));
    }
    isRight = isMade != 0 ? isRight : 0;
    reduce(isRight, MPI_INT, MPI_MIN, m_comm);
    if (segment.data() != nullptr) {
      segment.conceal();
    }
    if (isRight != 0) {
      return segment;
    }
  }
  if (error.message.empty()) {
    error = {.code = ErrorCode::limit, .message = "another process could not get shared memory for the run"};
  }
  return error;
}

Result<std::int64_t> MpiWorld::sum(std::int64_t value) {
  if (const Outcome outcome = gate(); !outcome) {
    return outcome.error();
  }
  std::int64_t all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &all, 1, MPI_INT64_T, MPI_SUM, m_comm, &request);
  const Outcome outcome = await(request);
  return outcome ? Result<std::int64_t>(all) : outcome.error();
}

Result<double> MpiWorld::max(double value) {
  if (const Outcome outcome = gate(); !outcome) {
    return outcome.error();
  }
  double all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, m_comm, &request);
  const Outcome outcome = await(request);
  return outcome ? Result<double>(all) : outcome.error();
}

Result<std::vector<std::string>> MpiWorld::gatherAll(const std::string& bytes) {
  if (const Outcome outcome = gate(); !outcome) {
    return outcome.error();
  }
  const auto count = static_cast<std::size_t>(m_processes);
  const std::int64_t own = static_cast<std::int64_t>(bytes.size());
  std::vector<std::int64_t> lengths(count);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&own, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, m_comm, &request);
  if (const Outcome outcome = await(request); !outcome) {
    return outcome.error();
  }
  std::int64_t total = 0;
  std::vector<int> counts(count);
  std::vector<int> starts(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (total + lengths[i] > INT_MAX) {
      return Error{.code = ErrorCode::limit, .message = "the records of all ranks together exceed 2 GiB"};
    }
    starts[i] = static_cast<int>(total);
    counts[i] = static_cast<int>(lengths[i]);
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Iallgatherv(bytes.data(), counts[m_process], MPI_BYTE, all.data(), counts.data(), starts.data(), MPI_BYTE, m_comm,
                  &request);
  if (const Outcome outcome = await(request); !outcome) {
    return outcome.error();
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(counts[i])));
  }
  return parts;
}

Result<std::vector<std::string>> MpiWorld::gather(const std::string& lines) {
  auto all = gatherAll(lines);
  if (all && m_process != 0) {
    all->clear();
  }
  return all;
}

Outcome MpiWorld::agree(const Outcome& own) {
  std::string record;
  if (!own) {
    put(record, static_cast<std::int32_t>(own.error().code));
    putText(record, own.error().message);
    putText(record, own.error().fix);
  }
  const auto all = gatherAll(record);
  if (!all) {
    return all.error();
  }
  for (std::size_t process = 0; process < all->size(); ++process) {
    std::string_view rest = (*all)[process];
    std::int32_t code = 0;
    Error error;
    if (take(rest, code) && takeText(rest, error.message) && takeText(rest, error.fix)) {
      if (static_cast<int>(process) == m_process) {
        return own;
      }
      error.code = static_cast<ErrorCode>(code);
      error.message += " (in process " + std::to_string(process) + ")";
      return error;
    }
  }
  return Done{};
}

/// A barrier in which process 0 knows who is missing.
Outcome MpiWorld::networkGate() {
  constexpr int kTag = 3;
  const auto count = static_cast<std::size_t>(m_processes);
  std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
  std::vector<char> words(count, 0);
  char own = 1;
  if (m_process != 0) {
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Isend(&own, 1, MPI_BYTE, 0, kTag, m_watchComm, &sent);
    MPI_Irecv(words.data(), 1, MPI_BYTE, 0, kTag, m_watchComm, requests.data());
    Outcome outcome = await(requests.front(), 0);
    if (outcome) {
      waitFor(sent);
    }
    return outcome;
  }
  for (int peer = 1; peer < m_processes; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    MPI_Irecv(&words[at], 1, MPI_BYTE, peer, kTag, m_watchComm, &requests[at]);
  }
  for (int peer = 1; peer < m_processes; ++peer) {
    if (Outcome outcome = await(requests[peer], peer); !outcome) {
      return outcome;
    }
  }
  for (int peer = 1; peer < m_processes; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    MPI_Isend(&own, 1, MPI_BYTE, peer, kTag, m_watchComm, &requests[at]);
  }
  waitFor(requests);
  return Done{};
}

Outcome MpiWorld::gate(int looks) {
  if (isNetworked()) {
    return networkGate();
  }
  HostState& state = host();
  const std::uint32_t seen = state.gate.load(std::memory_order_acquire);
  if (state.gateArrived.fetch_add(1, std::memory_order_acq_rel) + 1 == m_neighbours.size()) {
    state.gateArrived.store(0, std::memory_order_relaxed);
    state.gate.fetch_add(1, std::memory_order_seq_cst);
    futexWake(state.gate);
    return Done{};
  }
  for (; looks > 0 && state.gate.load(std::memory_order_acquire) == seen && Pause::yield(); --looks) {
  }
  Clock::time_point stoppedSince = Clock::time_point::max();
  while (state.gate.load(std::memory_order_acquire) == seen) {
    if (futexWait(state.gate, seen, kTick)) {
      continue;
    }
    if (Outcome alive = lookAround(stoppedSince); !alive) {
      return alive;
    }
  }
  return Done{};
}

}  // namespace coppice::executor
