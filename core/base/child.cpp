// SPDX-License-Identifier: Apache-2.0
#include "base/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace coppice {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxCaptured = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::milliseconds kTickWithoutHandle{20};

void closeEnd(int& fd) {
  if (fd >= 0) {
    close(fd);
    fd = -1;
  }
}

/// The same file out of the way of standard input, output and error, which a caller may have closed; -1 stays.
int aboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) {
    return fd;
  }
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return moved;
}

/// Both ends of a pipe, closed unless taken.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
      from = aboveStandard(ends[0]);
      to = aboveStandard(ends[1]);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    closeEnd(from);
    closeEnd(to);
  }
  int from = -1;
  int to = -1;
};

bool isProgram(const std::string& file) {
  struct stat facts = {};
  return stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(file.c_str(), X_OK) == 0;
}

void setNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// In a child before its program: no handlers of ours, and none of the signals that we ignore for our own sake.
void restoreSignals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    const bool isOurs = number == SIGPIPE || number == SIGINT || number == SIGTERM;
    if (sigaction(number, nullptr, &action) == 0 && (isOurs || action.sa_handler != SIG_IGN)) {
      std::signal(number, SIG_DFL);
    }
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

/// Moves the terminal to a process group. SIGTTOU is blocked: it would stop a caller in the background.
void giveTerminal(int terminal, pid_t group) {
  sigset_t quiet;
  sigset_t before;
  sigemptyset(&quiet);
  sigaddset(&quiet, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &quiet, &before);
  tcsetpgrp(terminal, group);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::string findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return isProgram(name) ? name : std::string();
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (isProgram(file)) {
      return file;
    }
    if (colon == std::string_view::npos) {
      return {};
    }
    rest.remove_prefix(colon + 1);
  }
}

bool canAskAtTerminal() {
  return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

Result<Child> Child::start(const std::vector<std::string>& words, const ChildOptions& options) {
  const std::string program = findProgram(words.front());
  if (program.empty()) {
    return Error{ErrorCode::unavailable, inQuotes(words.front()) + " cannot be started: it was not found",
                 "check that it is installed"};
  }
  const auto failed = [](const std::string& what) {
    return Error{ErrorCode::io, what + ": " + std::strerror(errno), "raise the limit of open files (ulimit -n)"};
  };
  Pipe in;
  Pipe out;
  Pipe err;
  if (std::min({in.from, in.to, out.from, out.to, err.from, err.to}) < 0) {
    return failed("pipe");
  }
  if (!options.inputFile.empty()) {
    closeEnd(in.from);
    in.from = aboveStandard(open(options.inputFile.c_str(), O_RDONLY | O_CLOEXEC));
    if (in.from < 0) {
      return Error{ErrorCode::io, inQuotes(options.inputFile) + " cannot be read: " + std::strerror(errno),
                   "check the file and its permissions"};
    }
  }
  for (const auto& [file, end] : {std::pair(&options.outputFile, &out.to), std::pair(&options.errorsFile, &err.to)}) {
    if (!file->empty()) {
      constexpr int kOwn = 0600;
      closeEnd(*end);
      *end = aboveStandard(open(file->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwn));
      if (*end < 0) {
        return failed(inQuotes(*file));
      }
    }
  }
  const int terminal = options.asksAtTerminal ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1;
  if (options.inputFile.empty()) {
    // A child that is gone must not end us.
    std::signal(SIGPIPE, SIG_IGN);
  }
  // Everything the child needs is made before the fork: behind it, other threads' locks are never released.
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  Child child;
  // A signal that comes before the new program would run our handlers in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  child.m_pid = fork();
  if (child.m_pid != 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (child.m_pid == 0) {
    setpgid(0, 0);
    if (terminal >= 0) {
      giveTerminal(terminal, getpid());
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
      _exit(127);
    }
    restoreSignals();
    dup2(in.from, STDIN_FILENO);
    dup2(out.to, STDOUT_FILENO);
    dup2(err.to, STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  if (child.m_pid < 0) {
    if (terminal >= 0) {
      close(terminal);
    }
    return failed("fork");
  }
  setpgid(child.m_pid, child.m_pid);
  child.m_terminal = terminal;
  child.m_handle = static_cast<int>(syscall(SYS_pidfd_open, child.m_pid, 0));
  child.m_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (options.inputFile.empty()) {
    child.m_in = std::exchange(in.to, -1);
    setNonBlocking(child.m_in);
  }
  if (options.outputFile.empty()) {
    child.m_out = std::exchange(out.from, -1);
    setNonBlocking(child.m_out);
  }
  if (options.errorsFile.empty()) {
    child.m_err = std::exchange(err.from, -1);
    setNonBlocking(child.m_err);
  }
  return child;
}

Child::Child(Child&& other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)),
      m_handle(std::exchange(other.m_handle, -1)),
      m_wake(std::exchange(other.m_wake, -1)),
      m_in(std::exchange(other.m_in, -1)),
      m_out(std::exchange(other.m_out, -1)),
      m_err(std::exchange(other.m_err, -1)),
      m_terminal(std::exchange(other.m_terminal, -1)),
      m_status(other.m_status),
      m_pending(std::move(other.m_pending)),
      m_sent(other.m_sent),
      m_closesInput(other.m_closesInput) {}

Child::~Child() {
  closeEnd(m_in);
  closeEnd(m_out);
  closeEnd(m_err);
  if (m_pid > 0 && m_status < 0) {
    kill(-m_pid, SIGKILL);
    wait();
  }
  takeTerminalBack();
  closeEnd(m_handle);
  closeEnd(m_wake);
}

void Child::takeTerminalBack() {
  if (m_terminal >= 0) {
    giveTerminal(m_terminal, getpgrp());
    closeEnd(m_terminal);
  }
}

void Child::write(std::string_view text) {
  if (m_in >= 0 && !m_closesInput) {
    m_pending += text;
    feed();
  }
}

void Child::closeInput() {
  m_closesInput = true;
  feed();
}

void Child::feed() {
  while (m_in >= 0 && m_sent < m_pending.size()) {
    const ssize_t written = ::write(m_in, m_pending.data() + m_sent, m_pending.size() - m_sent);
    if (written > 0) {
      m_sent += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      closeEnd(m_in);
    }
  }
  m_pending.clear();
  m_sent = 0;
  if (m_closesInput) {
    closeEnd(m_in);
  }
}

void Child::pumpOnce(std::chrono::milliseconds time, const std::function<void(std::string_view)>& onOutput,
                     const std::function<void(std::string_view)>& onErrors, std::span<pollfd> others) {
  std::vector<pollfd> ends{{m_out, POLLIN, 0},
                           {m_err, POLLIN, 0},
                           {m_pending.empty() ? -1 : m_in, POLLOUT, 0},
                           {m_handle, POLLIN, 0},
                           {m_wake, POLLIN, 0}};
  ends.insert(ends.end(), others.begin(), others.end());
  poll(ends.data(), ends.size(), pollTime(time));
  std::copy(ends.end() - static_cast<std::ptrdiff_t>(others.size()), ends.end(), others.begin());
  takeWake();
  feed();
  std::array<char, 65536> buffer{};
  for (const bool isOutput : {true, false}) {
    int& fd = isOutput ? m_out : m_err;
    // A little at a time, so that a flood on one pipe does not block the other.
    for (int i = 0; i < 16 && fd >= 0; ++i) {
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got > 0) {
        (isOutput ? onOutput : onErrors)(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0) {
        closeEnd(fd);
      } else if (errno == EAGAIN) {
        break;
      } else if (errno != EINTR) {
        closeEnd(fd);
      }
    }
  }
}

void Child::pump(const std::function<void(std::string_view)>& onOutput,
                 const std::function<void(std::string_view)>& onErrors, const std::function<void()>& onTick) {
  while (!hasEnded()) {
    pumpOnce(kTick, onOutput, onErrors);
    onTick();
  }
  // What it wrote before it ended is in the pipes.
  std::size_t moved = 1;
  constexpr int kMaxRounds = 256;
  for (int i = 0; i < kMaxRounds && moved > 0; ++i) {
    moved = 0;
    pumpOnce(
        std::chrono::milliseconds(0),
        [&](std::string_view text) {
          moved += text.size();
          onOutput(text);
        },
        [&](std::string_view text) {
          moved += text.size();
          onErrors(text);
        });
  }
}

bool Child::waitFor(std::chrono::milliseconds time) {
  std::array<pollfd, 2> ends{{{m_handle, POLLIN, 0}, {m_wake, POLLIN, 0}}};
  const auto until = Clock::now() + time;
  while (!hasEnded()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      break;
    }
    poll(ends.data(), ends.size(), pollTime(left));
    if (takeWake()) {
      break;
    }
  }
  return hasEnded();
}

int Child::pollTime(std::chrono::milliseconds time) const {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(1);
  return static_cast<int>(std::min(time, m_handle >= 0 ? kLongest : kTickWithoutHandle).count());
}

void Child::wake() const {
  [[maybe_unused]] const int done = eventfd_write(m_wake, 1);
}

bool Child::takeWake() const {
  eventfd_t count = 0;
  return eventfd_read(m_wake, &count) == 0;
}

void Child::signal(int number) const {
  if (m_pid > 0 && m_status < 0) {
    kill(-m_pid, number);
  }
}

int Child::end(std::chrono::milliseconds patience) {
  signal(SIGTERM);
  // One that is stopped takes it only then.
  signal(SIGCONT);
  for (const auto until = Clock::now() + patience; !hasEnded() && Clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  signal(SIGKILL);
  return wait();
}

bool Child::hasEnded() {
  int raw = 0;
  if (m_status < 0 && waitpid(m_pid, &raw, WNOHANG) == m_pid) {
    m_status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }
  return m_status >= 0;
}

int Child::wait() {
  int raw = 0;
  while (m_status < 0) {
    if (waitpid(m_pid, &raw, 0) == m_pid) {
      m_status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    } else if (errno != EINTR) {
      m_status = 255;
    }
  }
  return m_status;
}

Result<Captured> capture(const std::vector<std::string>& words, std::string_view input, const std::stop_token& stop,
                         const Patience& patience, const ChildOptions& options) {
  auto child = Child::start(words, options);
  if (!child) {
    return child.error();
  }
  Captured captured;
  const auto append = [](std::string& to, std::string_view more) {
    to += more.substr(0, kMaxCaptured - std::min(kMaxCaptured, to.size()));
  };
  constexpr auto kToLeave = std::chrono::milliseconds(500);
  const auto from = Clock::now();
  bool isNoted = !patience.onSlow;
  const std::stop_callback wakes(stop, [&child] { child->wake(); });
  child->write(input);
  child->closeInput();
  child->pump([&](std::string_view text) { append(captured.output, text); },
              [&](std::string_view text) { append(captured.errors, text); },
              [&] {
                const auto waited = Clock::now() - from;
                if (!isNoted && waited >= patience.notice && !stop.stop_requested()) {
                  isNoted = true;
                  patience.onSlow();
                }
                captured.isTimedOut = captured.isTimedOut || waited >= patience.limit;
                if (stop.stop_requested() || captured.isTimedOut) {
                  child->end(kToLeave);
                }
              });
  captured.status = child->wait();
  if (stop.stop_requested()) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  return captured;
}

}  // namespace coppice
