// SPDX-License-Identifier: Apache-2.0
#include "io/dot_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/dot_messages.hpp"
#include "io/fabric_json.hpp"

namespace coppice::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "coppice-dot";
constexpr std::size_t kMaxOutput = std::size_t{512} << 20;
constexpr std::size_t kMaxMessages = std::size_t{1} << 20;
constexpr auto kStopInterval = std::chrono::milliseconds(50);

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int value) : m_value(value) {}
  Descriptor(Descriptor&& other) noexcept : m_value(std::exchange(other.m_value, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    m_value = std::exchange(other.m_value, -1);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return m_value; }
  [[nodiscard]] bool isOpen() const { return m_value >= 0; }
  void close() {
    if (m_value >= 0) {
      ::close(std::exchange(m_value, -1));
    }
  }

private:
  int m_value = -1;
};

/// A child that is surely gone when this is.
class Child {
public:
  explicit Child(pid_t pid) : m_pid(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (m_pid > 0) {
      ::kill(m_pid, SIGKILL);
      int status = 0;
      while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
  }

  /// The wait status once it has ended.
  std::optional<int> poll() {
    int status = 0;
    const pid_t ended = ::waitpid(m_pid, &status, WNOHANG);
    if (ended == m_pid || (ended < 0 && errno == ECHILD)) {
      m_pid = -1;
      return status;
    }
    return std::nullopt;
  }

private:
  pid_t m_pid;
};

struct Answer {
  std::string output;
  std::string messages;
};

/// Out of the way of standard input, output and error, which a caller may have closed.
Descriptor aboveStandard(int value) {
  Descriptor original(value);
  if (value > STDERR_FILENO) {
    return original;
  }
  return Descriptor(::fcntl(value, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

Error ioError(const std::string& what, int code) {
  return {ErrorCode::io, what + ": " + std::generic_category().message(code), "try again; check the installation"};
}

bool isProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// What the helper says in records; other lines are those of libraries.
std::vector<Finding> findingsIn(std::string_view messages, const std::string& fileName) {
  std::vector<Finding> findings;
  while (!messages.empty()) {
    const std::size_t end = std::min(messages.find('\n'), messages.size());
    if (std::optional<Finding> finding = readDotRecord(messages.substr(0, end))) {
      finding->where.file = fileName;
      findings.push_back(std::move(*finding));
    }
    messages.remove_prefix(std::min(end + 1, messages.size()));
  }
  return findings;
}

/// Runs the helper with input on its standard input until it ends.
class Run {
public:
  Run(const std::filesystem::path& program, const char* mode, std::string_view input, const DotHelperOptions& options)
      : m_program(program.string()), m_mode(mode), m_input(input), m_options(options) {}

  Result<Answer> go() {
    m_deadline = Clock::now() + std::min(m_options.timeLimit, std::chrono::milliseconds(std::chrono::hours(24)));
    pid_t pid = -1;
    if (auto outcome = start(pid); !outcome) {
      return outcome.error();
    }
    Child child(pid);
    if (auto outcome = exchange(); !outcome) {
      return outcome.error();
    }
    for (;;) {
      if (const auto status = child.poll()) {
        return judge(*status);
      }
      if (auto outcome = checkTime(); !outcome) {
        return outcome.error();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

private:
  Outcome start(pid_t& pid) {
    // A socket for its input: writing to a pipe whose reader has gone would raise SIGPIPE in the caller.
    int in[2];
    int out[2];
    int err[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
      return ioError("no socket for the Graphviz helper", errno);
    }
    Descriptor childIn = aboveStandard(in[0]);
    m_in = aboveStandard(in[1]);
    if (::pipe2(out, O_CLOEXEC) != 0) {
      return ioError("no pipe for the Graphviz helper", errno);
    }
    m_out = aboveStandard(out[0]);
    Descriptor childOut = aboveStandard(out[1]);
    if (::pipe2(err, O_CLOEXEC) != 0) {
      return ioError("no pipe for the Graphviz helper", errno);
    }
    m_err = aboveStandard(err[0]);
    Descriptor childErr = aboveStandard(err[1]);
    for (const Descriptor* end : {&m_in, &m_out, &m_err, &childIn, &childOut, &childErr}) {
      if (!end->isOpen()) {
        return ioError("no pipe for the Graphviz helper", errno);
      }
    }
    for (const Descriptor* end : {&m_in, &m_out, &m_err}) {
      ::fcntl(end->get(), F_SETFL, ::fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, childIn.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, childOut.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, childErr.get(), STDERR_FILENO);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char* arguments[] = {m_program.data(), m_records.data(), m_mode.data(), nullptr};
    const int code = ::posix_spawn(&pid, m_program.c_str(), &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
      return ioError("the Graphviz helper " + inQuotes(m_program) + " cannot be started", code);
    }
    return Done{};
  }

  Outcome checkTime() const {
    if (m_options.stop.stop_requested()) {
      return Error{ErrorCode::cancelled, "the Graphviz helper was stopped"};
    }
    if (Clock::now() >= m_deadline) {
      return Error{ErrorCode::limit,
                   "the Graphviz helper took longer than " + std::to_string(m_options.timeLimit.count()) + " ms",
                   "give a smaller graph, or more time"};
    }
    return Done{};
  }

  /// Feeds and drains at once, so that neither side can wait for the other forever.
  Outcome exchange() {
    if (m_input.empty()) {
      m_in.close();
    }
    while (m_out.isOpen() || m_err.isOpen()) {
      if (auto outcome = checkTime(); !outcome) {
        return outcome;
      }
      pollfd ends[3] = {{m_in.get(), POLLOUT, 0}, {m_out.get(), POLLIN, 0}, {m_err.get(), POLLIN, 0}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(m_deadline - Clock::now());
      const auto wait = std::clamp(left, std::chrono::milliseconds(1), std::chrono::milliseconds(kStopInterval));
      if (::poll(ends, 3, static_cast<int>(wait.count())) < 0 && errno != EINTR) {
        return ioError("waiting for the Graphviz helper failed", errno);
      }
      if (ends[0].revents != 0) {
        feed();
      }
      if (ends[1].revents != 0) {
        drain(m_out, m_answer.output, kMaxOutput);
      }
      if (ends[2].revents != 0) {
        drain(m_err, m_answer.messages, kMaxMessages);
      }
      if (m_answer.output.size() > kMaxOutput) {
        return Error{ErrorCode::limit, "the answer of the Graphviz helper is larger than 512 MiB",
                     "give a smaller graph"};
      }
    }
    return Done{};
  }

  void feed() {
    const ssize_t sent =
        ::send(m_in.get(), m_input.data(), std::min(m_input.size(), std::size_t{1} << 16), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      m_input.remove_prefix(static_cast<std::size_t>(sent));
    }
    const bool mayRetry = sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (m_input.empty() || !mayRetry) {
      m_in.close();  // done, or the helper reads no more: its exit says why
    }
  }

  /// Beyond the limit the rest is read and dropped (one byte over tells the caller).
  static void drain(Descriptor& end, std::string& into, std::size_t limit) {
    char buffer[65536];
    const ssize_t count = ::read(end.get(), buffer, sizeof buffer);
    if (count > 0) {
      const std::size_t room = limit + 1 - std::min(into.size(), limit + 1);
      into.append(buffer, std::min(static_cast<std::size_t>(count), room));
    } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      end.close();
    }
  }

  Result<Answer> judge(int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      return std::move(m_answer);
    }
    if (WIFSIGNALED(status)) {
      return Error{ErrorCode::io,
                   "the Graphviz helper was ended by signal " + std::to_string(WTERMSIG(status)) + " on this text",
                   "simplify the graph; Graphviz itself may be at fault"};
    }
    for (Finding& finding : findingsIn(m_answer.messages, {})) {
      if (finding.severity == Severity::error) {
        return Error{ErrorCode::badInput, std::move(finding.text), std::move(finding.fix), std::move(finding.where)};
      }
    }
    return Error{ErrorCode::io,
                 "the Graphviz helper failed with status " + std::to_string(WEXITSTATUS(status)) + " and no message",
                 "check the installation of " + m_program};
  }

  std::string m_program;
  std::string m_records = std::string(kDotRecords);
  std::string m_mode;
  std::string_view m_input;
  const DotHelperOptions& m_options;
  Clock::time_point m_deadline;
  Descriptor m_in;
  Descriptor m_out;
  Descriptor m_err;
  Answer m_answer;
};

Result<Answer> runHelper(const char* mode, std::string_view input, const DotHelperOptions& options) {
  std::filesystem::path program = options.program;
  if (program.empty()) {
    auto found = findDotHelper();
    if (!found) {
      return found.error();
    }
    program = std::move(*found);
  } else if (!isProgram(program)) {
    return Error{ErrorCode::unavailable, inQuotes(program.string()) + " is not a program",
                 "give the path of coppice-dot"};
  }
  return Run(program, mode, input, options).go();
}

}  // namespace

Result<std::filesystem::path> findDotHelper() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    for (const std::filesystem::path& candidate :
         {self.parent_path() / kProgram, self.parent_path().parent_path() / "libexec" / "coppice" / kProgram}) {
      if (isProgram(candidate)) {
        return candidate;
      }
    }
  }
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::filesystem::path folder(folders.substr(0, end));
    folders.remove_prefix(std::min(end + 1, folders.size()));
    if (folder.is_absolute() && isProgram(folder / kProgram)) {
      return folder / kProgram;
    }
  }
  return Error{ErrorCode::unavailable, "the Graphviz helper coppice-dot is not installed",
               "install it beside this program or in PATH (it is built where libgraphviz-dev is present)"};
}

Result<ImportResult> readDotWithHelper(std::string_view text, const std::string& fileName,
                                       const DotHelperOptions& options) {
  try {
    auto answer = runHelper("read", text, options);
    if (!answer) {
      Error error = answer.error();
      error.where.file = fileName;
      return error;
    }
    auto description = readFabricJson(answer->output, fileName);
    if (!description) {
      return Error{ErrorCode::io, "the Graphviz helper's answer cannot be read: " + description.error().message,
                   "use the coppice-dot of this version", Place{fileName}};
    }
    return ImportResult{std::move(*description), findingsIn(answer->messages, fileName)};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "the graph does not fit into memory", "give a smaller graph", Place{fileName}};
  }
}

Result<std::string> writeDotWithHelper(const fabric::Description& description, const DotHelperOptions& options) {
  try {
    auto answer = runHelper("write", writeFabricJson(description), options);
    if (!answer) {
      return answer.error();
    }
    return std::move(answer->output);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "the graph does not fit into memory", "export a smaller fabric"};
  }
}

Result<std::string> layOutDotWithHelper(std::string_view text, DotLayout layout, const DotHelperOptions& options) {
  try {
    const char* mode = "layout-dot";
    switch (layout) {
      case DotLayout::layered:
        break;
      case DotLayout::force:
        mode = "layout-fdp";
        break;
      case DotLayout::energy:
        mode = "layout-neato";
        break;
      case DotLayout::scalable:
        mode = "layout-sfdp";
        break;
      case DotLayout::circular:
        mode = "layout-circo";
        break;
    }
    auto answer = runHelper(mode, text, options);
    if (!answer) {
      return answer.error();
    }
    return std::move(answer->output);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "the graph does not fit into memory", "lay out a part of it"};
  }
}

}  // namespace coppice::io
