// SPDX-License-Identifier: Apache-2.0
#include "supervise/processes.hpp"

#include <dirent.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "base/numbers.hpp"
#include "supervise/files.hpp"

namespace coppice::executor {
namespace {

struct Entry {
  pid_t parent = 0;
  pid_t session = 0;
  bool isDead = false;
};

/// Source: proc(5), /proc/PID/stat: the name in parentheses may hold anything, so the fields are read behind the last
/// ")".
bool readEntry(const std::string& text, Entry& entry) {
  const std::size_t close = text.rfind(')');
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  if (close == std::string::npos ||
      std::sscanf(text.c_str() + close + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4) {
    return false;
  }
  entry = {parent, session, state == 'Z' || state == 'X'};
  return true;
}

std::map<pid_t, Entry> table() {
  std::map<pid_t, Entry> all;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) {
    return all;
  }
  while (const dirent* item = readdir(folder)) {
    const std::string_view name = item->d_name;
    const auto pid = numberIn<pid_t>(name);
    constexpr std::size_t kLongest = 4096;
    Entry entry;
    if (!pid) {
      continue;
    }
    if (const auto text = readSmall("/proc/" + std::string(name) + "/stat", kLongest);
        text && readEntry(*text, entry)) {
      all[*pid] = entry;
    }
  }
  closedir(folder);
  return all;
}

}  // namespace

std::vector<pid_t> processesOf(pid_t session, pid_t ancestor) {
  const std::map<pid_t, Entry> all = table();
  const auto descends = [&](pid_t pid) {
    // Bounded: the table is not a snapshot and could hold a loop.
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto found = all.find(pid);
      if (found == all.end() || found->second.parent <= 1) {
        return found != all.end() && found->second.parent == ancestor;
      }
      if (found->second.parent == ancestor) {
        return true;
      }
      pid = found->second.parent;
    }
    return false;
  };
  std::vector<pid_t> result;
  for (const auto& [pid, entry] : all) {
    if (pid != ancestor && !entry.isDead && (entry.session == session || descends(pid))) {
      result.push_back(pid);
    }
  }
  return result;
}

}  // namespace coppice::executor
