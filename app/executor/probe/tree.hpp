// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coppice::probe {

/// Small text files below a root: "/" on a machine, a folder with a recorded /sys and /proc in a test. Nothing outside
/// the root is read, whatever a symbolic link says, and nothing but ordinary files.
class Tree {
public:
  explicit Tree(std::filesystem::path root);

  [[nodiscard]] const std::filesystem::path& root() const { return m_root; }
  [[nodiscard]] bool isLive() const { return m_root == "/"; }

  /// The file's text without the white space at its end, at most 64 KiB of it. nullopt where it cannot be read; what
  /// exists and still cannot is kept for refused().
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  /// The whole number that the file holds; nullopt also where it holds something else.
  [[nodiscard]] std::optional<long long> number(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// Names in a folder, at most 4,096, numbers within names in numeric order. Empty where there is no such folder.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  /// Where a path leads, relative to the root ("/sys/devices/…"); nullopt where it leads nowhere or outside.
  [[nodiscard]] std::optional<std::string> resolved(const std::string& path) const;

  /// Paths that exist but refused to be read, with the system's reason.
  [[nodiscard]] const std::map<std::string, std::string>& refused() const { return m_refused; }

private:
  std::filesystem::path m_root;
  mutable std::map<std::string, std::string> m_refused;
};

/// "0-3,8" as {0,1,2,3,8}; nullopt where the text is no such list or names more than 65,536 numbers.
[[nodiscard]] std::optional<std::vector<int>> parseCpuList(const std::string& text);

}  // namespace coppice::probe
