// SPDX-License-Identifier: Apache-2.0
#include "mpi/launcher.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/child.hpp"
#include "base/text.hpp"
#include "coppice/version.hpp"
#include "mpi/last_words.hpp"
#include "mpi/lost_rank.hpp"
#include "mpi/stale_segments.hpp"
#include "mpi/start_watch.hpp"
#include "program/run_protocol.hpp"
#include "threads/cores.hpp"

namespace coppice::executor {
namespace {

using program::RunExit;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 2 * program::kMaxRecordBytes;
constexpr std::size_t kKeptErrors = std::size_t{64} << 10;  // of the launcher's and the ranks' standard error
constexpr auto kGrace = std::chrono::seconds(5);            // from the polite signal to the other
constexpr auto kAnswer = std::chrono::seconds(8);           // for mpirun to name its version
constexpr auto kQueue = std::chrono::seconds(5);            // between questions to Slurm
constexpr auto kPatience = std::chrono::seconds(2);         // for its answer
constexpr auto kAfterwards = std::chrono::seconds(8);       // for the launcher, when process 0 has said its last

/// Ends a launcher at once, and what it started here: an ssh to a host that is gone would wait for minutes.
void killWithChildren(const Child& launcher) {
  // A launcher may be a script.
  const std::string id = std::to_string(launcher.pid());
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children{std::istream_iterator<pid_t>(list), {}};
  launcher.signal(SIGKILL);
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
  }
}

/// What a program says within `patience`; it is ended then. @param isLate whether it went on longer
std::string answerOf(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                     bool* isLate = nullptr) {
  const auto said = capture(command, {}, {}, {patience}, {.inputFile = "/dev/null"});
  if (!said) {
    return {};
  }
  if (isLate != nullptr) {
    *isLate = said->isTimedOut;
  }
  return said->output + said->errors;
}

/// Cuts a stream into lines; what is longer than kLongestLine is cut.
class Lines {
public:
  void add(std::string_view text, const std::function<void(const std::string&)>& take) {
    for (const char c : text) {
      if (c == '\n') {
        take(m_line);
        m_line.clear();
      } else if (m_line.size() < kLongestLine) {
        m_line += c;
      }
    }
  }
  void end(const std::function<void(const std::string&)>& take) {
    if (!m_line.empty()) {
      take(m_line);
      m_line.clear();
    }
  }

private:
  std::string m_line;
};

/// "8 s", "0.5 s".
std::string secondsText(std::chrono::milliseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g s", static_cast<double>(time.count()) / 1000);
  return text.data();
}

class Launch {
public:
  explicit Launch(const LaunchRequest& request) : m_request(request) {}

  int run() {
    write(program::HelloRecord{.version = kVersion, .pid = ::getpid(), .processGroup = ::getpgrp()});
    std::vector<std::string> command;
    if (const auto error = prepare(command)) {
      return close(error->code == ErrorCode::badUsage ? RunExit::badUsage : RunExit::machineLacks, *error);
    }
    sigset_t heard;
    sigemptyset(&heard);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&heard, signal);
    }
    ::sigprocmask(SIG_BLOCK, &heard, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    m_signals = ::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (const int removed = removeStaleSegments(); removed > 0) {
      write(program::LogRecord{.severity = Severity::note,
                               .text = "removed shared memory that a killed run had left in /dev/shm: " +
                                       std::to_string(removed) + (removed == 1 ? " segment" : " segments"),
                               .source = "launcher"});
    }
    auto child = Child::start(command, {.inputFile = "/dev/null"});
    if (!child || m_signals < 0) {
      return close(RunExit::machineLacks, child ? Error{.code = ErrorCode::io,
                                                        .message = "signals cannot be heard",
                                                        .fix = "raise the limit of open files (ulimit -n)"}
                                                : child.error());
    }
    m_child = &*child;
    listen();
    return settle();
  }

private:
  std::optional<Error> prepare(std::vector<std::string>& command) {
    const bool isPlain = std::all_of(m_request.partition.begin(), m_request.partition.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("._-").find(c) != std::string_view::npos;
    });
    if (!isPlain || m_request.partition.starts_with('-')) {
      return Error{.code = ErrorCode::badUsage,
                   .message = inQuotes(m_request.partition) + " is not a Slurm partition",
                   .fix = "see sinfo"};
    }
    if (const auto shares = shareRanks(m_request.hosts, m_request.ranks); !shares) {
      return shares.error();
    }
    std::string name = m_request.launcher;
    std::string file = findProgram(name.empty() ? "mpirun" : name);
    if (name.empty()) {
      name = "mpirun";
      if (file.empty()) {
        name = "srun";
        file = findProgram(name);
      }
    }
    if (name != "mpirun" && name != "srun") {
      return Error{
          .code = ErrorCode::badUsage, .message = inQuotes(name) + " is not a launcher", .fix = "use mpirun or srun"};
    }
    if (file.empty()) {
      return Error{.code = ErrorCode::unavailable,
                   .message = m_request.launcher.empty() ? "neither mpirun nor srun is found" : name + " is not found",
                   .fix = "install Open MPI (Debian: openmpi-bin), or use --backend threads"};
    }
    m_launcher = name;
    const double limit = m_request.startSeconds < 0 ? defaultStartSeconds(m_request, name) : m_request.startSeconds;
    m_start.emplace(limit, m_begin);
    bool isLate = false;
    const bool isOpenMpi =
        name == "mpirun" && answerOf({file, "--version"}, kAnswer, &isLate).find("Open MPI") != std::string::npos;
    if (isLate) {
      return Error{.code = ErrorCode::unavailable,
                   .message = inQuotes(file + " --version") + " has not answered within " + secondsText(kAnswer),
                   .fix = "run it by hand"};
    }
    const auto isSet = [](const char* variable) {
      const char* const value = std::getenv(variable);
      return value != nullptr && std::string_view(value) == "1";
    };
    if (isOpenMpi && ::geteuid() == 0 &&
        !(isSet("OMPI_ALLOW_RUN_AS_ROOT") && isSet("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"))) {
      return Error{.code = ErrorCode::unavailable,
                   .message = "mpirun refuses to run as root",
                   .fix =
                       "run as an ordinary user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and "
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 to run as root"};
    }
    if (name == "srun") {
      if (auto error = whyNotSlurm(file)) {
        return error;
      }
    }
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    const char* const home = std::getenv("HOME");
    // srun brings the folder and HOME along, and Slurm's hosts share them.
    const bool isElsewhere = name == "mpirun" && !m_request.hosts.empty() && home != nullptr;
    command = launchCommand(m_request, name, isOpenMpi,
                            hostProgram(program, std::filesystem::current_path(error).string(),
                                        isElsewhere ? std::filesystem::canonical(home, error).string() : std::string()),
                            allowedCores());
    command.front() = file;
    return std::nullopt;
  }

  /// srun must offer what the MPI library speaks, and starts the same number of ranks on all hosts.
  [[nodiscard]] std::optional<Error> whyNotSlurm(const std::string& file) const {
    const std::string offers = answerOf({file, "--mpi=list"}, kGrace);
    if (std::getenv("SLURM_MPI_TYPE") == nullptr && !offers.empty() && offers.find("pmix") == std::string::npos) {
      return Error{.code = ErrorCode::unavailable,
                   .message = "this Slurm has no plug-in for PMIx, by which Open MPI starts",
                   .fix =
                       "use mpirun inside an allocation (salloc), or set SLURM_MPI_TYPE to one of srun --mpi=list "
                       "that your MPI knows"};
    }
    std::optional<int> first;
    const auto shares = shareRanks(m_request.hosts, m_request.ranks);
    for (const HostShare& share : *shares) {
      if (first && *first != share.ranks && m_request.hosts.find(':') != std::string::npos) {
        return Error{.code = ErrorCode::badUsage,
                     .message = "srun starts the same number of ranks on each host",
                     .fix = "give all hosts the same number, or leave the numbers out"};
      }
      first = share.ranks;
    }
    return std::nullopt;
  }

  // ---- writing

  void put(const std::string& text) {
    if (!m_isOutputGone &&
        (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)) {
      m_isOutputGone = true;
      cancel("standard output can no longer be written");
    }
  }
  void write(const program::Record& record) {
    if (m_request.json) {
      put(program::writeRecord(record));
    }
  }
  int close(RunExit exit, const Error& error) {
    std::string text = describe(error);
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::fprintf(stderr, "coppice-exec: %s\n", text.c_str());
    write(program::ErrorRecord{.exit = exit, .error = error});
    write(program::EndRecord{.code = exit, .reason = error.message});
    return static_cast<int>(exit);
  }

  // ---- hearing

  void listen() {
    const auto takeOutputs = [this](std::string_view text) {
      m_outputLines.add(text, [this](const std::string& line) { takeOutput(line); });
    };
    const auto takeErrors = [this](std::string_view text) {
      m_errorLines.add(text, [this](const std::string& line) { takeError(line); });
    };
    bool isInputOpen = m_request.lifeline;
    while (!m_child->hasEnded()) {
      std::array<pollfd, 2> others = {pollfd{m_signals, POLLIN, 0}, pollfd{isInputOpen ? STDIN_FILENO : -1, POLLIN, 0}};
      const bool awaitsStart = !m_hasStarted && m_start->limit() > 0;
      using std::chrono::milliseconds;
      m_child->pumpOnce(m_cancelled   ? milliseconds(100)
                        : awaitsStart ? m_start->interval()
                                      : milliseconds(1000),
                        takeOutputs, takeErrors, others);
      if (others[0].revents != 0) {
        hearSignals();
      }
      if (others[1].revents != 0) {
        isInputOpen = hearInput();
      }
      if (m_child->hasEnded()) {
        break;
      }
      if (awaitsStart && !m_cancelled) {
        watchStart();
      }
      if (m_cancelled && Clock::now() > *m_cancelled + kGrace) {
        killWithChildren(*m_child);  // its ranks go with it
      }
      if (m_ended && Clock::now() > *m_ended + kAfterwards && !m_cancelled) {
        // mpirun waits for a host that is gone as long as TCP does.
        m_isLauncherStuck = true;
        killWithChildren(*m_child);
      }
      askQueue();
    }
    m_child->pump(takeOutputs, takeErrors, [] {});
    m_outputLines.end([this](const std::string& line) { takeOutput(line); });
    m_errorLines.end([this](const std::string& line) { takeError(line); });
  }

  /// @return whether there may be more
  bool hearInput() {
    const auto take = [this](const std::string& line) { takeCommand(line); };
    std::array<char, 4096> part;
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      return true;
    }
    if (count <= 0) {
      m_inputLines.end(take);
      cancel("standard input was closed");
      return false;
    }
    m_inputLines.add(std::string_view(part.data(), static_cast<std::size_t>(count)), take);
    return true;
  }

  void hearSignals() {
    signalfd_siginfo heard = {};
    while (::read(m_signals, &heard, sizeof(heard)) == static_cast<ssize_t>(sizeof(heard))) {
      if (m_cancelled) {
        killWithChildren(*m_child);  // asked twice
      } else {
        cancel("stopped by " + signalText(static_cast<int>(heard.ssi_signo)));
      }
    }
  }

  void cancel(const std::string& why) {
    if (!m_cancelled) {
      m_cancelled = Clock::now();
      m_cancelReason = why;
      if (m_child != nullptr && !m_child->hasEnded()) {
        ::kill(m_child->pid(), SIGTERM);  // mpirun passes it on to its ranks
      }
    }
  }

  void watchStart() {
    const Clock::time_point now = Clock::now();
    if (now < m_lookedAtStart + m_start->interval() || !m_startFault.empty() || m_queued != 0) {
      return;
    }
    m_lookedAtStart = now;
    const TreeState tree = treeState(m_child->pid());
    const StartWatch::Verdict verdict = m_start->look(tree, now);
    if (verdict == StartWatch::Verdict::starting) {
      return;
    }
    const std::string limit =
        secondsText(std::chrono::milliseconds(static_cast<std::int64_t>(m_start->limit() * 1000)));
    std::string text = m_launcher + " has not started the ranks within " + limit;
    if (verdict == StartWatch::Verdict::slow) {
      text += "; its processes are still busy, so the run waits for them";
      write(program::LogRecord{.severity = Severity::warning, .text = text, .source = "launcher"});
      std::fprintf(stderr, "coppice-exec: %s\n", text.c_str());
      return;
    }
    m_startFault = text + (tree.stopped > 0 ? ": process " + std::to_string(tree.stopped) + " is stopped by a signal"
                                            : ", and its processes only sleep");
    if (const std::string words = firstError(); !words.empty()) {
      m_startFault += "; it wrote: " + words;
    }
    killWithChildren(*m_child);
  }

  /// Why Slurm lets the job wait, now and then.
  void askQueue() {
    if (m_queued == 0 || m_hasSpoken || m_cancelled || Clock::now() < m_askedQueue + kQueue) {
      return;
    }
    const std::string squeue = findProgram("squeue");
    const std::string id = std::to_string(m_queued);
    std::string reason =
        squeue.empty() ? "" : answerOf({squeue, "--noheader", "--jobs=" + id, "--format=%r, start %S"}, kPatience);
    reason = reason.substr(0, reason.find('\n'));
    if (reason != m_queueReason && !reason.empty()) {
      m_queueReason = reason;
      write(program::StateRecord{.state = "queued", .detail = "Slurm job " + id + ": " + reason});
      if (!m_request.json) {
        std::fprintf(stderr, "coppice-exec: Slurm job %s waits: %s\n", id.c_str(), reason.c_str());
      }
    }
    m_askedQueue = Clock::now();
  }

  void takeOutput(const std::string& line) {
    m_hasSpoken = true;
    m_hasStarted = m_hasStarted || line.starts_with("# backend: ");
    if (!m_request.json) {
      put(line + "\n");
      return;
    }
    const auto record = program::readRecord(line);
    m_hasStarted = m_hasStarted || (record && (std::holds_alternative<program::EnvRecord>(*record) ||
                                               std::holds_alternative<program::ErrorRecord>(*record)));
    if (!record) {
      write(program::LogRecord{.severity = Severity::note, .text = line, .source = m_launcher});
    } else if (const auto* end = std::get_if<program::EndRecord>(&*record)) {
      m_end = *end;
      m_ended = Clock::now();
    } else if (!std::holds_alternative<program::HelloRecord>(*record)) {
      put(line + "\n");
    }
  }

  void takeError(const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    if (m_errors.size() < kKeptErrors) {
      m_errors += line + "\n";
    }
    constexpr std::string_view kOwn = "coppice-exec: ";
    int job = 0;
    // NOLINTNEXTLINE(cert-err34-c): nine digits cannot overflow
    if (std::sscanf(line.c_str(), "srun: job %9d queued", &job) == 1) {
      m_queued = job;
      m_askedQueue = Clock::now();
      write(program::StateRecord{.state = "queued", .detail = "Slurm job " + std::to_string(job)});
    }
    if (line.find("DUE TO TIME LIMIT") != std::string::npos) {
      m_isOverTime = true;
    }
    if (line.starts_with(kOwn)) {
      m_lastWords = line.substr(kOwn.size());
      const bool stillWaits = m_lastWords.ends_with(kStillWaits);
      if (stillWaits) {
        m_lastWords.resize(m_lastWords.size() - kStillWaits.size());
        if (!m_ended) {
          write(program::LogRecord{.severity = Severity::warning, .text = m_lastWords, .source = "launcher"});
        }
      }
      m_ended = m_ended ? m_ended : std::optional(Clock::now() + (stillWaits ? kLastWords : Clock::duration::zero()));
    }
  }

  void takeCommand(const std::string& line) {
    const auto command = program::readCommand(line);
    if (!command) {
      write(program::LogRecord{.severity = Severity::warning, .text = describe(command.error()), .source = "input"});
    } else if (*command == program::RunCommand::cancel) {
      cancel("cancelled");
    } else if (*command == program::RunCommand::ping) {
      write(program::PongRecord{});
    }
  }

  // ---- the end

  int settle() {
    const int code = m_child->wait();
    std::string lost = findLostRank(m_errors);
    if (m_request.sharesProcesses && lost.starts_with("rank ")) {
      lost.replace(0, 4, "process");
    }
    if (m_cancelled) {
      return close(RunExit::cancelled, {.code = ErrorCode::cancelled, .message = m_cancelReason});
    }
    if (!m_startFault.empty()) {
      const std::string limits = tightLimits();
      return close(RunExit::machineLacks, {.code = ErrorCode::unavailable,
                                           .message = m_startFault,
                                           .fix = limits.empty() ? "run " + m_launcher +
                                                                       " by hand; where a start takes longer, raise "
                                                                       "--start-limit"
                                                                 : "raise the limits of this shell: " + limits});
    }
    // A launcher that lost a rank stops the others, and process 0 may have taken that for a wish of ours.
    const bool gaveUp = code == static_cast<int>(RunExit::hang) && !m_lastWords.empty();
    const bool wasStopped = m_end && m_end->code == RunExit::cancelled;
    if (m_isOverTime) {
      return close(RunExit::hang, {.code = ErrorCode::limit,
                                   .message = "Slurm ended the job at its time limit",
                                   .fix = "run fewer sizes or rounds, or take a partition with a longer limit"});
    }
    if (m_isLauncherStuck && lost.empty() && (!m_end || m_end->code == RunExit::hang)) {
      std::string who = m_end && !m_end->reason.empty() ? m_end->reason : m_lastWords;
      who = who.substr(0, who.find(';'));
      return close(RunExit::rankLost, {.code = ErrorCode::io,
                                       .message = who + ", and its host does not respond either",
                                       .fix = "check that host and the network to it"});
    }
    if (m_end && !(wasStopped && (!lost.empty() || gaveUp))) {
      write(*m_end);
      return static_cast<int>(m_end->code);
    }
    const bool isOwnCode = code >= 0 && code <= static_cast<int>(RunExit::internal);
    if (!m_request.json && isOwnCode && lost.empty() && m_hasSpoken) {
      return code;  // said in the text already
    }
    if (!lost.empty()) {
      const bool isSilent = lost.find("does not answer") != std::string::npos;
      return close(RunExit::rankLost,
                   {.code = ErrorCode::io,
                    .message = lost,
                    .fix = isSilent ? "check that host and the network to it" : "see what ended it"});
    }
    if (isOwnCode && code == static_cast<int>(RunExit::hang)) {
      return close(RunExit::hang, {.code = ErrorCode::unavailable,
                                   .message = m_lastWords.empty() ? "a rank does not answer" : m_lastWords});
    }
    const std::string what = m_launcher + " ended with " + std::to_string(code) + " before the run did";
    const std::string words = m_lastWords.empty() ? firstError() : m_lastWords;
    return close(m_hasSpoken ? RunExit::rankLost : RunExit::machineLacks,
                 {.code = m_hasSpoken ? ErrorCode::io : ErrorCode::unavailable,
                  .message = what + (words.empty() ? "" : ": " + words),
                  .fix = "see its output on standard error"});
  }

  /// The line of the launcher's that tells most: the last of srun's errors, or else the first that is not a frame.
  [[nodiscard]] std::string firstError() const {
    constexpr std::string_view kError = "srun: error: ";
    constexpr std::size_t kLongest = 300;
    if (const std::size_t at = m_errors.rfind(kError); at != std::string::npos) {
      const std::size_t from = at + kError.size();
      return m_errors.substr(from, std::min(m_errors.find('\n', from) - from, kLongest));
    }
    std::istringstream lines(m_errors);
    for (std::string line; std::getline(lines, line);) {
      if (std::any_of(line.begin(), line.end(),
                      [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; })) {
        return line.substr(0, kLongest);
      }
    }
    return {};
  }

  const LaunchRequest& m_request;
  std::string m_launcher;
  Child* m_child = nullptr;  ///< while run() waits for it
  int m_signals = -1;
  bool m_isOutputGone = false;
  bool m_hasSpoken = false;
  bool m_isLauncherStuck = false;
  bool m_isOverTime = false;
  int m_queued = 0;  ///< Slurm job that waits; 0 = none
  Clock::time_point m_begin = Clock::now();
  std::optional<StartWatch> m_start;
  Clock::time_point m_lookedAtStart;
  bool m_hasStarted = false;  ///< process 0 has its backend, or has reported why not
  std::string m_startFault;
  Clock::time_point m_askedQueue;
  std::string m_queueReason;
  std::optional<Clock::time_point> m_ended;  ///< by process 0's own words
  std::optional<Clock::time_point> m_cancelled;
  std::string m_cancelReason;
  std::optional<program::EndRecord> m_end;
  std::string m_errors;
  std::string m_lastWords;
  Lines m_outputLines;
  Lines m_errorLines;
  Lines m_inputLines;
};

}  // namespace

double defaultStartSeconds(const LaunchRequest& request, const std::string& launcher) {
  constexpr double kHere = 8;
  constexpr double kElsewhere = 60;
  const bool isHere = launcher == "mpirun" && request.hosts.empty() && request.backend == "mpi" &&
                      std::getenv("SLURM_JOB_ID") == nullptr && std::getenv("PBS_JOBID") == nullptr &&
                      std::getenv("LSB_JOBID") == nullptr;
  return isHere ? kHere : kElsewhere;
}

int launchMpi(const LaunchRequest& request) {
  return Launch(request).run();
}

}  // namespace coppice::executor
