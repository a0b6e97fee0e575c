// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace coppice::executor {

inline constexpr const char* kJobFile = "job.json";
inline constexpr const char* kRecordsFile = "records.jsonl";
inline constexpr const char* kLogFile = "log.txt";
inline constexpr const char* kLockFile = "lock";
inline constexpr const char* kCancelFile = "cancel";
inline constexpr const char* kEndedFile = "ended";
inline constexpr const char* kReserveFile = "reserve";

/// A file descriptor, closed at the end.
class Handle {
public:
  Handle() = default;
  explicit Handle(int fd) : m_fd(fd) {}
  Handle(Handle&& other) noexcept : m_fd(other.m_fd) { other.m_fd = -1; }
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  [[nodiscard]] int get() const { return m_fd; }
  explicit operator bool() const { return m_fd >= 0; }
  void close();

private:
  int m_fd = -1;
};

/// All of it, or false.
bool writeAll(int fd, std::string_view text);
/// At most `max` bytes; nullopt if it cannot be read.
[[nodiscard]] std::optional<std::string> readSmall(const std::string& path, std::size_t max);
/// In one step; false if it cannot be written.
bool writeSmall(const std::string& path, std::string_view text);
[[nodiscard]] bool exists(const std::string& path);
/// A process holds the lock of the run in this folder.
[[nodiscard]] bool isHeld(const std::string& folder);
/// The process that holds the lock of the run in this folder; nullopt if none does.
[[nodiscard]] std::optional<pid_t> holderOf(const std::string& folder);
/// The folder is a directory of ours that no other user can enter. Otherwise why not.
[[nodiscard]] std::optional<std::string> whyNotPrivate(const std::string& folder);

}  // namespace coppice::executor
