// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

/// Messages between coppice-exec and the program that started it: one JSON object per line, UTF-8, at most 64 KiB.
///
/// The first line is `hello`, the last is `end`; without an `end` the program crashed or the link was lost. Readers
/// skip types they do not know (readRecord answers UnknownRecord) and refuse another protocol number. Numbers are SI:
/// bytes, seconds where a name says so, microseconds in `_us`, 10^9 bytes per second in `_GBps`.
namespace coppice::program {

inline constexpr int kRunProtocol = 1;
inline constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 10;

/// Exit codes of coppice-exec; also in `end`, since ssh answers 255 for its own failures and for killed commands.
enum class RunExit : int {
  ok = 0,
  badUsage = 1,      ///< the command line or a file could not be read
  planRejected = 2,  ///< the schedule is malformed, unsafe or does not compute its collective
  machineLacks = 3,  ///< memory, a library, a device or a backend is missing
  wrongResult = 4,   ///< the data came out wrong
  hang = 5,          ///< deadlock, stall or the time limit
  rankLost = 6,      ///< a rank or host died
  cancelled = 7,     ///< by the user, a signal or a lost parent
  internal = 8       ///< a broken invariant of our own
};
/// "ok", "bad_usage", "plan_rejected", "machine_lacks", "wrong_result", "hang", "rank_lost", "cancelled", "internal".
[[nodiscard]] std::string_view toString(RunExit code);
/// Which exit code an error of core stands for.
[[nodiscard]] RunExit exitFor(const Error& error);

/// {"t":"hello","proto":1,"version":"0.1.0","pid":1,"pgid":1}
struct HelloRecord {
  int protocol = kRunProtocol;
  std::string version = {};
  std::int64_t pid = 0;
  std::int64_t processGroup = 0;

  friend bool operator==(const HelloRecord&, const HelloRecord&) = default;
};

/// Where the run is: "reading", "verifying", "preparing", "calibrating", "running", "finishing".
struct StateRecord {
  std::string state = {};
  std::string detail = {};

  friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

/// A backend of this build on this machine.
struct BackendNote {
  std::string name = {};  ///< "threads", "mpi", "cuda"
  bool available = false;
  std::string reason = {};  ///< why not, or what it runs on
  std::string fix = {};

  friend bool operator==(const BackendNote&, const BackendNote&) = default;
};

/// The machine and the software: before the first run, and what `self-test` answers.
struct EnvRecord {
  std::string host = {};
  std::string system = {};        ///< as uname -sm says
  std::string libc = {};          ///< "glibc 2.36"
  std::string processor = {};     ///< model name
  int cores = 0;                  ///< that this process may use: affinity and control groups count
  std::int64_t memoryBytes = 0;   ///< that this process may take now; 0 = not known
  std::string backend = {};       ///< chosen for this run; empty in a self-test
  std::string backendLabel = {};  ///< what its numbers mean, as in "rehearsal: correctness, not bandwidth"
  std::vector<BackendNote> backends = {};
  std::map<std::string, std::string> facts = {};  ///< anything else worth keeping: driver, MPI, GPU names

  friend bool operator==(const EnvRecord&, const EnvRecord&) = default;
};

/// The schedule as read, and all that was found in it.
struct PlanRecord {
  bool ok = false;
  std::string name = {};
  std::string file = {};
  std::string digest = {};  ///< FNV-1a of the file's bytes, 16 hex digits: equal schedules of two runs
  std::string collective = {};
  int ranks = 0;
  int root = -1;
  int threadBlocks = 0;  ///< most on any rank
  std::int64_t steps = 0;
  int channels = 0;
  bool inPlace = false;
  bool outOfPlace = false;
  std::optional<double> boundGBps = {};  ///< algbw that no schedule can exceed, from the forest or --bound
  std::vector<Finding> findings = {};

  friend bool operator==(const PlanRecord&, const PlanRecord&);
};

struct ProgressRecord {
  std::string stage = {};  ///< "check", "warmup", "time"
  std::int64_t size = 0;   ///< bytes
  bool inPlace = false;
  double fraction = 0;  ///< of the whole run, 0 to 1

  friend bool operator==(const ProgressRecord&, const ProgressRecord&) = default;
};

/// One size, in place or out of place: half a row of the table.
struct ResultRecord {
  std::int64_t size = 0;   ///< bytes, as nccl-tests counts them
  std::int64_t count = 0;  ///< elements, as nccl-tests counts them
  std::string type = {};
  std::string redop = {};  ///< "none" where nothing is reduced
  int root = -1;
  bool inPlace = false;
  int iterations = 0;
  double time_us = 0;  ///< mean
  double min_us = 0;
  double median_us = 0;
  double p99_us = 0;
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::optional<std::int64_t> wrong = {};            ///< wrong elements; absent = not checked
  std::optional<double> boundPercent = {};           ///< algbw of the bound
  std::optional<double> memoryRooflinePercent = {};  ///< measured copy bandwidth of this machine = 100

  friend bool operator==(const ResultRecord&, const ResultRecord&) = default;
};

/// What a wrong element looks like; at most 16 for each rank.
struct WrongRecord {
  int rank = 0;
  std::int64_t size = 0;
  bool inPlace = false;
  std::string buffer = {};   ///< "o" or "i"
  std::int64_t element = 0;  ///< index in the buffer
  int chunk = 0;
  std::string expected = {};
  std::string found = {};
  std::vector<std::string> writers = {};  ///< "rank 3, threadblock 2, step 14 (r from rank 5)"

  friend bool operator==(const WrongRecord&, const WrongRecord&) = default;
};

/// One executed piece of a step, in nanoseconds since the run's start.
struct TraceEvent {
  int rank = 0;
  int threadBlock = 0;
  int step = 0;
  int tile = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

/// Many events in one line: "events":[[rank,tb,step,tile,start,end],…]. writeRecord refuses more than kMaxTraceEvents.
struct TraceRecord {
  std::int64_t size = 0;
  bool inPlace = false;
  std::vector<TraceEvent> events = {};
  std::int64_t dropped = 0;  ///< events that found no room, so far

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
inline constexpr std::size_t kMaxTraceEvents = 600;

/// A threadblock that waits, and what it waits for.
struct WaitRecord {
  int rank = 0;
  int threadBlock = 0;
  int step = 0;
  int tile = 0;
  std::string operation = {};  ///< "rrcs"
  std::string waitsFor = {};   ///< "data", "space", "flag"
  int peerRank = -1;
  int peerThreadBlock = -1;
  int peerStep = -1;  ///< where the peer stands; for a flag, the step whose flag is awaited
  int channel = -1;

  friend bool operator==(const WaitRecord&, const WaitRecord&) = default;
};

/// Nothing moves.
struct StuckRecord {
  bool isDeadlock = false;  ///< proven: nothing is ready and nothing runs. Otherwise no progress for too long
  std::string text = {};    ///< for a person, on one line
  std::vector<WaitRecord> cycle = {};    ///< each waits for the next, the last for the first; empty if none was found
  std::vector<WaitRecord> waiting = {};  ///< others that wait, at most 32

  friend bool operator==(const StuckRecord&, const StuckRecord&) = default;
};

struct ErrorRecord {
  RunExit exit = RunExit::internal;
  Error error = {};

  friend bool operator==(const ErrorRecord&, const ErrorRecord&);
};

struct LogRecord {
  Severity severity = Severity::note;
  std::string text = {};
  std::string source = {};  ///< "rank 3", "mpirun", …

  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

/// The last lines of the table.
struct SummaryRecord {
  std::int64_t wrong = 0;  ///< "Out of bounds values"
  bool checked = false;
  double averageBusbw_GBps = 0;
  std::optional<double> memory_GBps = {};  ///< copy bandwidth measured before the run, bytes read and written

  friend bool operator==(const SummaryRecord&, const SummaryRecord&) = default;
};

struct PongRecord {
  friend bool operator==(const PongRecord&, const PongRecord&) = default;
};

struct EndRecord {
  RunExit code = RunExit::ok;
  std::string reason = {};

  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};

/// A type this version does not know. Skip it.
struct UnknownRecord {
  std::string type = {};

  friend bool operator==(const UnknownRecord&, const UnknownRecord&) = default;
};

using Record =
    std::variant<HelloRecord, StateRecord, EnvRecord, PlanRecord, ProgressRecord, ResultRecord, WrongRecord,
                 TraceRecord, StuckRecord, ErrorRecord, LogRecord, SummaryRecord, PongRecord, EndRecord, UnknownRecord>;

/// One line with its newline, never longer than kMaxRecordBytes: texts that are too long are cut (marked with "…"),
/// lists of findings, waits and notes lose their tail. Bytes that are not UTF-8 become U+FFFD. UnknownRecord and a
/// trace of more than kMaxTraceEvents give an empty line, which no reader takes.
[[nodiscard]] std::string writeRecord(const Record& record);

/// Reads one line, with or without its newline. Strict: an object with "t", every member of that type present with its
/// type and in range; members that are not known are skipped. Errors: badInput (not JSON, wrong member), limit (line
/// too long or nested too deep), unavailable (a hello of another protocol).
Result<Record> readRecord(std::string_view line);

/// What the starter may write to standard input.
enum class RunCommand { start, cancel, ping };
/// {"t":"cancel"} and a newline.
[[nodiscard]] std::string writeCommand(RunCommand command);
/// Errors: badInput, limit.
Result<RunCommand> readCommand(std::string_view line);

}  // namespace coppice::program
