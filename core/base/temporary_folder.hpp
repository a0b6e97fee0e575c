// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace coppice {

/// A new folder that only its owner can open (0700). It goes with this object, and all that is in it.
class TemporaryFolder {
public:
  /// "coppice-XXXXXX" in `parent`; empty = the folder for temporary files. Errors: io.
  static Result<TemporaryFolder> make(const std::filesystem::path& parent = {});
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return m_path / name; }

  /// Removes all that exist now, for a program that ends at once. From any thread.
  static void removeAll();

private:
  explicit TemporaryFolder(std::filesystem::path path);
  std::filesystem::path m_path;
};

}  // namespace coppice
