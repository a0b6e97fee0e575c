// SPDX-License-Identifier: Apache-2.0
#include "supervise/attach.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "program/run_protocol.hpp"
#include "supervise/files.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kAliveEvery = 2s;
constexpr auto kSilence = 30s;    // after a ping
constexpr auto kLastWords = 12s;  // for a run that we have asked to end: TERM, grace, KILL

/// A file that somebody else is writing.
class Tail {
public:
  explicit Tail(std::string path) : m_path(std::move(path)) {}

  /// What is new, at most 1 MiB; whole lines only, unless `isLast`.
  std::string more(bool isLast) {
    if (!m_file) {
      m_file = Handle(open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (!m_file) {
        return {};
      }
    }
    std::array<char, 65536> buffer{};
    constexpr std::size_t kMost = std::size_t{1} << 20;
    while (m_pending.size() < kMost) {
      const ssize_t got = read(m_file.get(), buffer.data(), buffer.size());
      if (got <= 0) {
        break;
      }
      m_pending.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const std::size_t end = isLast ? m_pending.size() : m_pending.rfind('\n') + 1;
    std::string lines = m_pending.substr(0, end);
    m_pending.erase(0, end);
    return lines;
  }

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
    if (!say("{\"t\":\"attached\",\"run\":\"" + m_folder.substr(slash + 1) + "\"}\n")) {
      return 0;
    }
    while (true) {
      // In this order: what the supervisor wrote before it was gone is then in the files.
      const bool isOver = exists(m_folder + "/" + kEndedFile) || !isHeld(m_folder);
      bool isIdle = true;
      for (std::string text = m_records.more(isOver); !text.empty(); text = m_records.more(isOver)) {
        isIdle = false;
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
    if (const auto code = readSmall(m_folder + "/" + kEndedFile, kLongest)) {
      return std::atoi(code->c_str());
    }
    say(program::writeRecord(program::EndRecord{program::RunExit::internal,
                                                "the supervisor of this run is gone; the machine may have restarted"}));
    return static_cast<int>(program::RunExit::internal);
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
