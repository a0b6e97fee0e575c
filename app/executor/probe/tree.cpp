// SPDX-License-Identifier: Apache-2.0
#include "probe/tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/natural_order.hpp"

namespace coppice::probe {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxNames = 4096;
constexpr int kMaxCpus = 65536;

}  // namespace

Tree::Tree(std::filesystem::path root) : m_root(std::move(root)) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(m_root, error);
  if (!error) {
    m_root = canonical;
  }
}

std::optional<std::string> Tree::resolved(const std::string& path) const {
  std::error_code error;
  const std::filesystem::path full =
      std::filesystem::canonical(m_root / std::filesystem::path(path).relative_path(), error);
  if (error) {
    return std::nullopt;
  }
  const auto [rootEnd, fullAt] = std::mismatch(m_root.begin(), m_root.end(), full.begin(), full.end());
  if (rootEnd != m_root.end()) {
    return std::nullopt;
  }
  std::string relative;
  for (auto part = fullAt; part != full.end(); ++part) {
    relative += "/" + part->string();
  }
  return relative.empty() ? "/" : relative;
}

std::optional<std::string> Tree::text(const std::string& path) const {
  const auto place = resolved(path);
  if (!place) {
    return std::nullopt;
  }
  const std::filesystem::path full = m_root / std::filesystem::path(*place).relative_path();
  const int file = ::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    m_refused.try_emplace(path, std::system_category().message(errno));
    return std::nullopt;
  }
  struct stat facts = {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(file);
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMaxBytes) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      m_refused.try_emplace(path, std::system_category().message(errno));
      ::close(file);
      return std::nullopt;
    }
    if (count == 0) {
      break;
    }
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

std::optional<long long> Tree::number(const std::string& path) const {
  const auto words = text(path);
  if (!words || words->empty()) {
    return std::nullopt;
  }
  long long value = 0;
  const auto [end, error] = std::from_chars(words->data(), words->data() + words->size(), value);
  if (error != std::errc{} || end != words->data() + words->size()) {
    return std::nullopt;
  }
  return value;
}

bool Tree::exists(const std::string& path) const {
  return resolved(path).has_value();
}

std::vector<std::string> Tree::names(const std::string& path) const {
  std::vector<std::string> names;
  const auto place = resolved(path);
  if (!place) {
    return names;
  }
  std::error_code error;
  std::filesystem::directory_iterator entry(m_root / std::filesystem::path(*place).relative_path(), error);
  for (; !error && entry != std::filesystem::directory_iterator() && names.size() < kMaxNames; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end(), naturalLess);
  return names;
}

std::optional<std::vector<int>> parseCpuList(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc{} || first < 0) {
      return std::nullopt;
    }
    at = read.ptr;
    int last = first;
    if (at != end && *at == '-') {
      read = std::from_chars(at + 1, end, last);
      if (read.ec != std::errc{} || last < first) {
        return std::nullopt;
      }
      at = read.ptr;
    }
    if (last >= kMaxCpus || cpus.size() > kMaxCpus) {
      return std::nullopt;
    }
    for (int cpu = first; cpu <= last; ++cpu) {
      cpus.push_back(cpu);
    }
    if (at != end && *at++ != ',') {
      return std::nullopt;
    }
  }
  return cpus;
}

}  // namespace coppice::probe
