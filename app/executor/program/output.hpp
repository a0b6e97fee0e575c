// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "bench/table.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

/// One line for a terminal: control characters become "?", line ends blanks. Names in files are untrusted.
[[nodiscard]] std::string terminalLine(std::string text);

/// Standard output of the program: records as JSON lines, or as text for people. Safe from any thread.
class Output {
public:
  Output(bool json, bool quiet) : m_json(json), m_quiet(quiet) {}
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const program::Record& record);
  /// Trace records go to this file instead. False where it cannot be written.
  bool traceTo(const std::string& file);
  /// What could not be written, and why: the disk is full or the reader is gone.
  [[nodiscard]] std::optional<std::string> fault() const;

private:
  void put(const std::string& text, std::FILE* to, const std::string& name);

  bool m_json;
  bool m_quiet;
  bool m_isBroken = false;  ///< standard output
  mutable std::mutex m_mutex;
  std::string m_fault;
  Table m_table;
  std::FILE* m_trace = nullptr;
  std::string m_traceName;
};

}  // namespace coppice::executor
