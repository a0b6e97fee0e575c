// SPDX-License-Identifier: Apache-2.0
#include "supervise/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "program/run_protocol.hpp"
#include "supervise/processes.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kMaxRecords = std::size_t{256} << 20;
constexpr std::size_t kMaxLog = std::size_t{32} << 20;
constexpr auto kPolite = 2s;  // between the request to end and TERM
constexpr auto kGrace = 5s;   // between TERM and KILL
constexpr auto kBeat = 1s;    // between two signs of life
constexpr std::size_t kReserve = 16384;
constexpr auto kLeftovers = 1s;  // for what is left when coppice-exec has ended by itself

volatile std::sig_atomic_t g_isAsked = 0;

void onSignal(int) {
  g_isAsked = 1;
}

/// A file that grows to a limit and then says so once. On a full disk it keeps its whole lines.
class Growing {
public:
  Growing(const std::string& path, std::size_t max, std::string farewell)
      : m_max(max), m_farewell(std::move(farewell)) {
    constexpr int kOwn = 0600;
    m_file = Handle(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kOwn));
  }
  void append(std::string_view text) {
    if (m_fault != 0 || m_isFull) {
      return;
    }
    m_isFull = m_size + text.size() > m_max;
    put(m_isFull ? m_farewell : text);
  }
  /// Also into a full one, or after a fault.
  void force(std::string_view text) { put(text); }
  /// Why nothing more is written: an errno value; 0 = no reason.
  [[nodiscard]] int fault() const { return m_fault; }

private:
  void put(std::string_view text) {
    if (writeAll(m_file.get(), text)) {
      m_size += text.size();
      return;
    }
    m_fault = errno != 0 ? errno : EIO;
    // No part of a line stays.
    [[maybe_unused]] const int cut = ftruncate(m_file.get(), static_cast<off_t>(m_size));
  }

  Handle m_file;
  std::size_t m_max;
  std::string m_farewell;
  std::size_t m_size = 0;
  bool m_isFull = false;
  int m_fault = 0;
};

class Supervisor {
public:
  Supervisor(std::string folder, const program::RunJob& job, int lock, Handle lifeline)
      : m_folder(std::move(folder)),
        m_job(job),
        m_lock(lock),
        m_lifeline(std::move(lifeline)),
        m_records(m_folder + "/" + kRecordsFile, kMaxRecords,
                  program::writeRecord(
                      program::LogRecord{Severity::warning, "too many records; the rest was dropped", "supervisor"})),
        m_log(m_folder + "/" + kLogFile, kMaxLog, "supervisor: too much output; the rest was dropped\n") {}

  int run() {
    // Where even this does not fit, the first records will tell.
    writeSmall(m_folder + "/" + kReserveFile, std::string(kReserve, ' '));
    if (!start()) {
      note("coppice-exec could not be started: " + std::string(std::strerror(errno)));
      return finish(0, true);
    }
    const auto started = Clock::now();
    std::optional<int> status;
    while (!status) {
      beat();
      pump(100);
      int raw = 0;
      const pid_t ended = waitpid(m_child, &raw, WNOHANG);
      if (ended == m_child || (ended < 0 && errno == ECHILD)) {
        status = raw;
        break;
      }
      reapOthers();
      if (m_cancelled.empty()) {
        if (m_records.fault() != 0) {
          cancel(unwritten());
        } else if (g_isAsked != 0) {
          cancel("the supervisor was asked to end");
        } else if (exists(m_folder + "/" + kCancelFile)) {
          cancel(program::kStoppedByUser);
        } else if (m_isStarterGone) {
          cancel("the starting program or the connection was lost");
        } else if (m_job.limitSeconds > 0 && Clock::now() - started > std::chrono::seconds(m_job.limitSeconds)) {
          m_isLate = true;
          cancel("the time limit of " + std::to_string(m_job.limitSeconds) + " s is reached");
        }
      } else if (!m_isAskedTwice && Clock::now() - m_cancelledAt > kPolite) {
        m_isAskedTwice = true;
        kill(-m_child, SIGTERM);
      } else if (!m_isKilled && Clock::now() - m_cancelledAt > kPolite + kGrace) {
        note("it did not end within 7 s; killing it");
        killAll();
      }
    }
    sweep();
    drain();
    return finish(*status, false);
  }

private:
  bool start() {
    int in[2];
    int out[2];
    int err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
      return false;
    }
    // Everything the child needs is made before the fork.
    std::vector<std::string> words{"coppice-exec"};
    std::array<char, 4096> self{};
    const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
    if (length > 0) {
      words.front().assign(self.data(), static_cast<std::size_t>(length));
    }
    words.insert(words.end(), m_job.arguments.begin(), m_job.arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    for (const auto& [name, value] : m_job.environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    const pid_t supervisor = getpid();
    m_child = fork();
    if (m_child == 0) {
      setsid();
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != supervisor || chdir(m_folder.c_str()) != 0) {
        _exit(127);
      }
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
        std::signal(signal, SIG_DFL);
      }
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    const int reason = errno;
    close(in[0]);
    close(out[1]);
    close(err[1]);
    m_input = Handle(in[1]);
    m_output = Handle(out[0]);
    m_errors = Handle(err[0]);
    for (const Handle* end : {&m_output, &m_errors, &m_input}) {
      fcntl(end->get(), F_SETFL, fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    }
    errno = reason;
    return m_child > 0;
  }

  void pump(int milliseconds) {
    std::array<pollfd, 3> ends{
        {{m_output.get(), POLLIN, 0}, {m_errors.get(), POLLIN, 0}, {m_lifeline.get(), POLLIN, 0}}};
    if (poll(ends.data(), ends.size(), milliseconds) <= 0) {
      return;
    }
    take(m_output, [this](std::string_view text) { addRecords(text); });
    take(m_errors, [this](std::string_view text) { m_log.append(text); });
    if (m_lifeline && (ends[2].revents & (POLLHUP | POLLERR | POLLIN)) != 0) {
      char byte = 0;
      if (read(m_lifeline.get(), &byte, 1) == 0) {
        m_isStarterGone = true;
        m_lifeline.close();
      }
    }
  }

  template <typename Use>
  void take(Handle& end, const Use& use) {
    std::array<char, 65536> buffer{};
    // At most a little at a time, so that a flood does not keep the rest waiting.
    for (int i = 0; i < 16 && end; ++i) {
      const ssize_t got = read(end.get(), buffer.data(), buffer.size());
      if (got > 0) {
        use(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0) {
        end.close();
      } else {
        if (errno != EAGAIN && errno != EINTR) {
          end.close();
        }
        return;
      }
    }
  }

  /// Whole lines that look like records go to the records, anything else to the log.
  void addRecords(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view part = text.substr(0, end);
      if (m_line.size() + part.size() < program::kMaxRecordBytes) {
        m_line += part;
      } else {
        m_isLineTooLong = true;
      }
      if (end == std::string_view::npos) {
        return;
      }
      text.remove_prefix(end + 1);
      if (m_isLineTooLong) {
        m_log.append("supervisor: a line of more than 64 KiB was dropped\n");
      } else if (m_line.substr(0, 1) == "{") {
        if (m_line.find("\"t\":\"end\"") != std::string::npos) {
          const auto record = program::readRecord(m_line);
          if (record && std::holds_alternative<program::EndRecord>(*record)) {
            m_code = std::get<program::EndRecord>(*record).code;
            // Why it was asked to end is known here, and is said at the end.
            m_hasEnd = m_cancelled.empty() || m_code != program::RunExit::cancelled;
            if (!m_hasEnd) {
              m_line.clear();
              continue;
            }
          }
        }
        m_records.append(m_line + "\n");
      } else if (!m_line.empty()) {
        m_log.append(m_line + "\n");
      }
      m_line.clear();
      m_isLineTooLong = false;
    }
  }

  void cancel(const std::string& why) {
    m_cancelled = why;
    m_cancelledAt = Clock::now();
    note(why);
    const std::string command = program::writeCommand(program::RunCommand::cancel);
    [[maybe_unused]] const auto written = write(m_input.get(), command.data(), command.size());
  }

  /// Others see by it that this process is not stopped.
  void beat() {
    if (Clock::now() - m_lastBeat >= kBeat) {
      m_lastBeat = Clock::now();
      futimens(m_lock, nullptr);
    }
  }

  [[nodiscard]] std::string unwritten() const {
    return "the records of the run cannot be written: " + std::string(std::strerror(m_records.fault()));
  }

  void killAll() {
    m_isKilled = true;
    for (const pid_t pid : processesOf(m_child, getpid())) {
      kill(pid, SIGKILL);
    }
  }

  /// coppice-exec has ended; what it left behind goes too.
  void sweep() {
    m_input.close();
    auto deadline = Clock::now() + kLeftovers;
    while (!processesOf(m_child, getpid()).empty()) {
      beat();
      reapOthers();
      if (Clock::now() > deadline) {
        killAll();
        // A process that waits for a disk cannot be killed at once; it is not waited for longer than this.
        if (Clock::now() > deadline + kGrace) {
          note("a process of the run could not be ended");
          return;
        }
      }
      pump(0);
      usleep(10'000);
    }
    reapOthers();
  }

  void drain() {
    for (int i = 0; i < 1000 && (m_output || m_errors); ++i) {
      const bool hadOutput = static_cast<bool>(m_output);
      const bool hadErrors = static_cast<bool>(m_errors);
      pump(0);
      if (hadOutput == static_cast<bool>(m_output) && hadErrors == static_cast<bool>(m_errors)) {
        std::array<pollfd, 2> ends{{{m_output.get(), POLLIN, 0}, {m_errors.get(), POLLIN, 0}}};
        if (poll(ends.data(), ends.size(), 0) <= 0) {
          return;
        }
      }
    }
  }

  /// As the nearest subreaper this process inherits what the run leaves behind. coppice-exec itself waits for run().
  void reapOthers() const {
    siginfo_t info = {};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 && info.si_pid != m_child) {
      waitpid(info.si_pid, nullptr, 0);
      info = {};
    }
  }

  int finish(int status, bool neverStarted) {
    using program::RunExit;
    unlink((m_folder + "/" + kReserveFile).c_str());
    if (!m_hasEnd || m_records.fault() != 0) {
      std::string reason;
      m_code = RunExit::internal;
      if (m_records.fault() != 0) {
        m_code = RunExit::machineLacks;
        reason = unwritten();
      } else if (m_isLate) {
        m_code = RunExit::hang;
        reason = m_cancelled;
      } else if (!m_cancelled.empty()) {
        m_code = RunExit::cancelled;
        reason = m_cancelled;
      } else if (neverStarted) {
        reason = "coppice-exec could not be started";
      } else if (WIFSIGNALED(status)) {
        reason = "coppice-exec was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                 strsignal(WTERMSIG(status)) + ")";
        // The kernel's answer to memory that ran out.
        m_code = WTERMSIG(status) == SIGKILL ? RunExit::rankLost : RunExit::internal;
      } else {
        const int code = WEXITSTATUS(status);
        constexpr int kMaxCode = static_cast<int>(RunExit::internal);
        m_code = code > 0 && code <= kMaxCode ? static_cast<RunExit>(code) : RunExit::internal;
        reason = "coppice-exec exited with status " + std::to_string(code) + " without a final record; see the log";
      }
      m_records.force(program::writeRecord(program::EndRecord{m_code, reason}));
    }
    return static_cast<int>(m_code);
  }

  void note(const std::string& text) { m_log.append("supervisor: " + text + "\n"); }

  std::string m_folder;
  const program::RunJob& m_job;
  int m_lock;
  Handle m_lifeline;
  Growing m_records;
  Growing m_log;
  Handle m_input;
  Handle m_output;
  Handle m_errors;
  pid_t m_child = -1;
  std::string m_line;
  bool m_isLineTooLong = false;
  bool m_hasEnd = false;
  program::RunExit m_code = program::RunExit::internal;
  std::string m_cancelled;
  Clock::time_point m_cancelledAt;
  Clock::time_point m_lastBeat;
  bool m_isAskedTwice = false;
  bool m_isKilled = false;
  bool m_isLate = false;
  bool m_isStarterGone = false;
};

}  // namespace

void supervise(const std::string& folder, const program::RunJob& job, Handle lock, Handle lifeline) {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int code = Supervisor(folder, job, lock.get(), std::move(lifeline)).run();
  writeSmall(folder + "/" + kEndedFile, std::to_string(code) + "\n");
  lock.close();
}

}  // namespace coppice::executor
