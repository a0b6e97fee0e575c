// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace coppice {
namespace {

using std::filesystem::path;

/// The minimum of all that were found.
class Least {
public:
  void add(std::optional<std::int64_t> bytes) {
    if (bytes && (!m_bytes || *bytes < *m_bytes)) {
      m_bytes = std::max<std::int64_t>(*bytes, 0);
    }
  }
  [[nodiscard]] std::optional<std::int64_t> value() const { return m_bytes; }

private:
  std::optional<std::int64_t> m_bytes;
};

std::optional<std::string> textOf(const path& file) {
  std::ifstream stream(file);
  if (!stream) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

/// The number a text starts with, after blanks.
std::optional<std::int64_t> leadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

/// "key   123" or "key: 123 kB" in a file of such lines, times `unit`.
std::optional<std::int64_t> entry(const path& file, std::string_view key, std::int64_t unit) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.size() > key.size() && line.starts_with(key) &&
        (line[key.size()] == ' ' || line[key.size()] == '\t' || line[key.size()] == ':')) {
      const auto number = leadingNumber(std::string_view(line).substr(key.size() + 1));
      return number && *number <= std::numeric_limits<std::int64_t>::max() / unit ? std::optional(*number * unit)
                                                                                  : std::nullopt;
    }
  }
  return std::nullopt;
}

/// Files that tell a group's limit, its use, and the page cache within that use.
struct GroupFiles {
  const char* limit;
  const char* use;
  const char* cache;
};

std::optional<std::int64_t> leftIn(const path& group, const GroupFiles& files) {
  const auto limitText = textOf(group / files.limit);
  const auto useText = textOf(group / files.use);
  const auto limit = limitText ? leadingNumber(*limitText) : std::nullopt;  // "max" is no number and no limit
  const auto use = useText ? leadingNumber(*useText) : std::nullopt;
  if (!limit || !use) {
    return std::nullopt;
  }
  const std::int64_t cache = entry(group / "memory.stat", files.cache, 1).value_or(0);
  return *limit - std::max<std::int64_t>(*use - cache, 0);
}

/// What the group and all above it leave; inside a container its own group is the root that can be seen.
std::optional<std::int64_t> leftInGroups(const path& mount, std::string_view group, const GroupFiles& files) {
  Least min;
  path inner = path(group).lexically_normal().relative_path();
  for (;;) {
    min.add(leftIn(mount / inner, files));
    if (inner.empty() || inner == inner.parent_path()) {
      return min.value();
    }
    inner = inner.parent_path();
  }
}

std::optional<std::int64_t> left(int resource, std::optional<std::int64_t> used) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(limit.rlim_cur) - used.value_or(0);
}

}  // namespace

std::optional<std::int64_t> memoryWithinLimits() {
  constexpr std::int64_t kKibibyte = 1024;
  Least min;
  min.add(left(RLIMIT_AS, entry("/proc/self/status", "VmSize", kKibibyte)));
  min.add(left(RLIMIT_DATA, entry("/proc/self/status", "VmData", kKibibyte)));
  return min.value();
}

std::optional<std::int64_t> availableMemory(const path& root) {
  constexpr std::int64_t kKibibyte = 1024;
  Least min;
  min.add(entry(root / "proc/meminfo", "MemAvailable", kKibibyte));
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" of version 2, "5:cpu,memory:/path" of version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (controllers == ",,") {
      min.add(leftInGroups(root / "sys/fs/cgroup", group, {"memory.max", "memory.current", "inactive_file"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      min.add(leftInGroups(root / "sys/fs/cgroup/memory", group,
                           {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}));
    }
  }
  min.add(memoryWithinLimits());
  return min.value();
}

bool limitMemory(std::int64_t bytes) {
  constexpr std::int64_t kKibibyte = 1024;
  rlimit limit{};
  const auto used = entry("/proc/self/status", "VmData", kKibibyte);
  std::int64_t max = 0;
  if (!used || getrlimit(RLIMIT_DATA, &limit) != 0) {
    return false;
  }
  if (__builtin_add_overflow(*used, std::max<std::int64_t>(bytes, 0), &max)) {
    return true;  // no limit could be that high
  }
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(max));
  return setrlimit(RLIMIT_DATA, &limit) == 0;
}

}  // namespace coppice
