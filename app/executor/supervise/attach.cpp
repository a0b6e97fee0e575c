// SPDX-License-Identifier: Apache-2.0
#include "supervise/attach.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "supervise/files.hpp"
#include "supervise/processes.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kAliveEvery = 2s;
constexpr auto kSilence = 30s;    // after a ping
constexpr auto kLastWords = 15s;  // for a run that we have asked to end: TERM, grace, KILL
constexpr auto kStalled = 8s;     // without a heartbeat of the supervisor, which sends one every second

/// A file that another process is writing.
class Tail {
public:
  explicit Tail(std::string path) : m_path(std::move(path)) {}

  /// What is new, at most 1 MiB; whole lines only, unless `all`.
  std::string more(bool all) {
    if (!m_file) {
      m_file = Handle(open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (!m_file) {
        return {};
      }
    }
    // A part of a line that did not fit on the disk was taken back.
    struct stat status = {};
    if (const off_t at = lseek(m_file.get(), 0, SEEK_CUR); fstat(m_file.get(), &status) == 0 && status.st_size < at) {
      lseek(m_file.get(), std::max(off_t{0}, at - static_cast<off_t>(m_pending.size())), SEEK_SET);
      m_pending.clear();
    }
    std::array<char, 65536> buffer{};
    constexpr std::size_t kMax = std::size_t{1} << 20;
    while (m_pending.size() < kMax) {
      const ssize_t got = read(m_file.get(), buffer.data(), buffer.size());
      if (got <= 0) {
        break;
      }
      m_pending.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const std::size_t end = all ? m_pending.size() : m_pending.rfind('\n') + 1;
    std::string lines = m_pending.substr(0, end);
    m_pending.erase(0, end);
    return lines;
  }
  /// What was read of a line whose end has not come.
  [[nodiscard]] std::size_t unfinished() const { return m_pending.size(); }

private:
  std::string m_path;
  Handle m_file;
  std::string m_pending;
};

class Attachment {
public:
  Attachment(const std::string& folder, bool endsWithUs)
      : m_folder(folder),
        m_endsWithUs(endsWithUs),
        m_records(folder + "/" + kRecordsFile),
        m_log(folder + "/" + kLogFile) {}

  int run() {
    const std::size_t slash = m_folder.find_last_of('/');
    // On a line of its own, whatever a login has printed.
    if (!say("\n{\"t\":\"attached\",\"run\":\"" + m_folder.substr(slash + 1) + "\"}\n")) {
      return 0;
    }
    while (true) {
      // In this order: what the supervisor wrote before it was gone is then in the files.
      const bool isOver = exists(m_folder + "/" + kEndedFile) || !isHeld(m_folder);
      bool isIdle = true;
      for (std::string text = m_records.more(false); !text.empty(); text = m_records.more(false)) {
        isIdle = false;
        m_hasEnd = m_hasEnd || text.find("\"t\":\"end\"") != std::string::npos;
        if (!say(text)) {
          return 0;
        }
      }
      for (std::string text = m_log.more(true); !text.empty(); text = m_log.more(true)) {
        isIdle = false;
        writeAll(STDERR_FILENO, text);
      }
      if (isOver) {
        return lastWord();
      }
      if (isIdle && Clock::now() - m_lastSaid > kAliveEvery && !say("{\"t\":\"alive\"}\n")) {
        return 0;
      }
      watchSupervisor();
      if (const std::optional<int> left = listen()) {
        return *left;
      }
    }
  }

private:
  bool say(const std::string& text) {
    m_lastSaid = Clock::now();
    return writeAll(STDOUT_FILENO, text);
  }

  int lastWord() {
    constexpr std::size_t kLongest = 16;
    const auto ended = readSmall(m_folder + "/" + kEndedFile, kLongest);
    int code = ended && !ended->empty() ? std::atoi(ended->c_str()) : static_cast<int>(program::RunExit::internal);
    if (m_hasEnd) {
      return code;
    }
    std::string reason = "the supervisor of this run no longer exists; the machine may have restarted";
    if (isDiskFull() || ended) {
      reason = "the records of this run are incomplete: " +
               std::string(isDiskFull() ? "the disk is full" : "they could not be written");
      code = static_cast<int>(program::RunExit::machineLacks);
    }
    if (m_records.unfinished() > 0) {
      reason += "; the last record is cut off after " + std::to_string(m_records.unfinished()) + " bytes";
    }
    say(program::writeRecord(program::EndRecord{static_cast<program::RunExit>(code), reason}));
    return code;
  }

  [[nodiscard]] bool isDiskFull() const {
    struct statvfs disk = {};
    return statvfs(m_folder.c_str(), &disk) == 0 && disk.f_blocks > 0 && disk.f_bavail == 0;
  }

  /// Names a supervisor that sends no heartbeat, and ends its run where that was asked for: no other process can.
  void watchSupervisor() {
    struct stat lock = {};
    if (stat((m_folder + "/" + kLockFile).c_str(), &lock) != 0) {
      return;
    }
    const bool hasMoved = lock.st_mtim.tv_sec != m_beat.tv_sec || lock.st_mtim.tv_nsec != m_beat.tv_nsec;
    if (hasMoved) {
      m_beat = lock.st_mtim;
      m_beatSeen = Clock::now();
      m_isStalled = false;
    }
    const std::optional<pid_t> supervisor =
        Clock::now() - m_beatSeen > kStalled ? holderOf(m_folder) : std::optional<pid_t>();
    if (!supervisor) {
      return;
    }
    if (!m_isStalled) {
      m_isStalled = true;
      say(program::writeRecord(
          program::LogRecord{Severity::warning,
                             "the supervisor of this run (process " + std::to_string(*supervisor) +
                                 ") does not respond; it may be stopped, or the machine overloaded",
                             "attach"}));
    }
    if (m_askedAt) {
      endRun(*supervisor);
    }
  }

  void endRun(pid_t supervisor) {
    // A stopped parent adopts no process it could lose: all descend from it until it exits.
    constexpr int kRounds = 100;
    for (int i = 0; i < kRounds; ++i) {
      const std::vector<pid_t> rest = processesOf(supervisor, supervisor);
      if (rest.empty()) {
        break;
      }
      for (const pid_t pid : rest) {
        kill(pid, SIGKILL);
      }
      usleep(20'000);
    }
    kill(supervisor, SIGKILL);
    for (int i = 0; i < kRounds && isHeld(m_folder); ++i) {
      usleep(20'000);
    }
    unlink((m_folder + "/" + kReserveFile).c_str());
    constexpr int kOwn = 0600;
    const Handle records(
        open((m_folder + "/" + kRecordsFile).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kOwn));
    const auto code = program::RunExit::cancelled;
    writeAll(records.get(),
             (m_records.unfinished() > 0 ? "\n" : "") +
                 program::writeRecord(program::EndRecord{
                     code, std::string(program::kStoppedByUser) +
                               "; its supervisor did not respond, so all of its processes were killed"}));
    writeSmall(m_folder + "/" + kEndedFile, std::to_string(static_cast<int>(code)) + "\n");
  }

  void cancel() {
    writeSmall(m_folder + "/" + kCancelFile, "cancel\n");
    m_askedAt = m_askedAt ? m_askedAt : std::optional(Clock::now());
  }

  /// Waits a little. The exit code if it is time to go.
  std::optional<int> listen() {
    constexpr int kWait = 40;
    pollfd input{m_hasInput ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&input, 1, kWait) > 0) {
      std::array<char, 4096> buffer{};
      const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got > 0) {
        hear(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0 || errno != EINTR) {
        m_hasInput = false;
      }
    }
    if (m_lastPing && Clock::now() - *m_lastPing > kSilence) {
      m_hasInput = false;
    }
    if (!m_hasInput) {
      if (!m_endsWithUs) {
        return 0;
      }
      cancel();
      if (Clock::now() - *m_askedAt > kLastWords) {
        return static_cast<int>(program::RunExit::cancelled);
      }
    }
    return std::nullopt;
  }

  void hear(std::string_view text) {
    m_heard += text;
    std::size_t end = m_heard.find('\n');
    for (; end != std::string::npos; end = m_heard.find('\n')) {
      const auto command = program::readCommand(m_heard.substr(0, end));
      m_heard.erase(0, end + 1);
      if (command && *command == program::RunCommand::cancel) {
        cancel();
      } else if (command && *command == program::RunCommand::ping) {
        m_lastPing = Clock::now();
      }
    }
    if (m_heard.size() > program::kMaxRecordBytes) {
      m_heard.clear();
    }
  }

  std::string m_folder;
  bool m_endsWithUs;
  Tail m_records;
  Tail m_log;
  bool m_hasInput = true;
  bool m_hasEnd = false;
  timespec m_beat = {};
  Clock::time_point m_beatSeen = Clock::now();
  bool m_isStalled = false;
  std::string m_heard;
  Clock::time_point m_lastSaid = Clock::now();
  std::optional<Clock::time_point> m_lastPing;
  std::optional<Clock::time_point> m_askedAt;
};

}  // namespace

int attach(const std::string& folder, bool endsWithUs) {
  return Attachment(folder, endsWithUs).run();
}

}  // namespace coppice::executor
