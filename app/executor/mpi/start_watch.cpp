// SPDX-License-Identifier: Apache-2.0
#include "mpi/start_watch.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace coppice::executor {
namespace {

constexpr int kMaxProcesses = 4096;

/// All threads may have started processes.
std::vector<pid_t> childrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", error);
  for (; !error && threads != std::filesystem::directory_iterator(); threads.increment(error)) {
    std::ifstream list(threads->path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(list), {});
  }
  return children;
}

}  // namespace

TreeState treeState(pid_t root) {
  TreeState tree;
  std::vector<pid_t> open = {root};
  while (!open.empty() && tree.processes < kMaxProcesses) {
    const pid_t pid = open.back();
    open.pop_back();
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(file, line)) {
      continue;
    }
    // "PID (NAME) STATE …" with the times as fields 14 and 15; a name may hold anything.
    const std::size_t name = line.rfind(')');
    char state = '?';
    long long user = 0;
    long long system = 0;
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers
    if (name == std::string::npos ||
        std::sscanf(line.c_str() + name + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &state, &user,
                    &system) != 3) {
      continue;
    }
    ++tree.processes;
    tree.ticks += user + system;
    tree.isWorking = tree.isWorking || state == 'R' || state == 'D';
    if (state == 'T') {
      tree.stopped = pid;
    }
    const std::vector<pid_t> children = childrenOf(pid);
    open.insert(open.end(), children.begin(), children.end());
  }
  return tree;
}

std::chrono::milliseconds StartWatch::interval() const {
  constexpr double kLooks = 8;
  constexpr double kMaxMilliseconds = 1000;
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::clamp(m_limit * 1000 / kLooks, 10.0, kMaxMilliseconds)));
}

StartWatch::Verdict StartWatch::look(const TreeState& tree, Clock::time_point now) {
  if (m_limit <= 0) {
    return Verdict::starting;
  }
  // A launcher that only waits may use a tick now and then.
  const bool hasWorked = tree.isWorking || tree.processes != m_before.processes || tree.ticks > m_before.ticks + 1;
  m_before = tree;
  m_worked = hasWorked ? now : m_worked;
  const auto seconds = [&](Clock::time_point since) { return std::chrono::duration<double>(now - since).count(); };
  if (seconds(m_begin) < m_limit) {
    return Verdict::starting;
  }
  if (seconds(m_worked) >= m_limit / 2) {
    return Verdict::hanging;
  }
  if (m_isSlow) {
    return Verdict::starting;
  }
  m_isSlow = true;
  return Verdict::slow;
}

std::string tightLimits() {
  struct Limit {
    __rlimit_resource_t resource;
    const char* what;
    const char* option;
  };
  constexpr std::array kLimits = {Limit{RLIMIT_FSIZE, "files may have", "ulimit -f"},
                                  Limit{RLIMIT_AS, "a process may have", "ulimit -v"}};
  std::string text;
  for (const Limit& limit : kLimits) {
    rlimit found = {};
    if (::getrlimit(limit.resource, &found) == 0 && found.rlim_cur != RLIM_INFINITY) {
      text += (text.empty() ? "" : ", ") + std::string(limit.what) + " " + std::to_string(found.rlim_cur >> 10U) +
              " KiB (" + limit.option + ")";
    }
  }
  return text;
}

}  // namespace coppice::executor
