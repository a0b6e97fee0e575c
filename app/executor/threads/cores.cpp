// SPDX-License-Identifier: Apache-2.0
#include "threads/cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace coppice::executor {
namespace {

namespace fs = std::filesystem;

constexpr long kUsualCache = 32L << 20;

std::optional<double> readQuota2(const fs::path& file) {
  std::ifstream in(file);
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) {
    return std::nullopt;
  }
  try {
    return std::stod(quota) / period;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<double> readQuota1(const fs::path& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream in(folder / "cpu.cfs_quota_us");
  std::ifstream of(folder / "cpu.cfs_period_us");
  if (!(in >> quota) || !(of >> period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

/// The smallest quota of the process's groups and all above them, in cores.
std::optional<double> groupQuota(const fs::path& root) {
  std::optional<double> min;
  const auto take = [&](std::optional<double> quota) {
    if (quota && (!min || *quota < *min)) {
      min = quota;
    }
  };
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string controllers;
    std::string path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    const bool version2 = controllers.empty();
    const bool hasCpu = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (!version2 && !hasCpu) {
      continue;
    }
    const fs::path mount = version2 ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup/cpu";
    fs::path group = fs::path(path).relative_path();
    for (int levels = 0; levels < 64; ++levels) {
      take(version2 ? readQuota2(mount / group / "cpu.max") : readQuota1(mount / group));
      if (group.empty()) {
        break;
      }
      group = group.parent_path();
    }
  }
  return min;
}

}  // namespace

int allowedCores(const fs::path& root) {
  int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    cores = std::max(1, CPU_COUNT(&mask));
  }
  if (const auto quota = groupQuota(root)) {
    cores = std::min(cores, std::max(1, static_cast<int>(*quota + 0.999)));
  }
  return cores;
}

bool moveOffCores(const std::vector<int>& taken) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return false;
  }
  cpu_set_t wanted = allowed;
  for (const int core : taken) {
    if (core >= 0 && core < CPU_SETSIZE) {
      CPU_CLR(static_cast<std::size_t>(core), &wanted);
    }
  }
  if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof(wanted), &wanted) != 0) {
    return false;
  }
  sched_setaffinity(0, sizeof(allowed), &allowed);
  return true;
}

long sharedCacheBytes() {
  long largest = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
    largest = std::max(largest, sysconf(level));
  }
  return largest > 0 ? largest : kUsualCache;
}

}  // namespace coppice::executor
