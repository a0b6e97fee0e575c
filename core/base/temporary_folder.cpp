// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace coppice {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<std::filesystem::path> folders;
};

/// Never destroyed: folders may go after static objects do.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

void discard(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(const std::filesystem::path& parent) {
  std::filesystem::path place = parent;
  if (place.empty()) {
    std::error_code failed;
    place = std::filesystem::temp_directory_path(failed);
    if (failed) {
      place = "/tmp";
    }
  }
  std::string name = place / "coppice-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Error{ErrorCode::io,
                 "a private folder in " + inQuotes(place.string()) +
                     " cannot be created: " + std::generic_category().message(errno),
                 "check its free space, or set TMPDIR to a folder that can be written"};
  }
  return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(std::filesystem::path path) : m_path(std::move(path)) {
  const std::lock_guard lock(registry().mutex);
  registry().folders.insert(m_path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : m_path(std::exchange(other.m_path, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (!m_path.empty()) {
    const std::lock_guard lock(registry().mutex);
    registry().folders.erase(m_path);
    discard(m_path);
  }
}

void TemporaryFolder::removeAll() {
  const std::lock_guard lock(registry().mutex);
  for (const std::filesystem::path& path : registry().folders) {
    discard(path);
  }
}

}  // namespace coppice
