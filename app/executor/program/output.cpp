// SPDX-License-Identifier: Apache-2.0
#include "program/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace coppice::executor {
namespace {

/// Control characters but line ends become "?".
std::string withoutControls(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n' && isControlCharacter(text, at)) {
      const bool isC1 = static_cast<unsigned char>(text[at]) == 0xc2;
      text.replace(at, isC1 ? 2 : 1, "?");
    }
  }
  return text;
}

}  // namespace

std::string terminalLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return withoutControls(std::move(text));
}

Output::~Output() {
  if (m_trace != nullptr) {
    std::fclose(m_trace);
  }
}

bool Output::traceTo(const std::string& file) {
  m_trace = std::fopen(file.c_str(), "we");
  m_traceName = inQuotes(file);
  return m_trace != nullptr;
}

void Output::write(const program::Record& record) {
  const std::lock_guard lock(m_mutex);
  if (m_quiet) {
    return;
  }
  if (m_trace != nullptr && std::holds_alternative<program::TraceRecord>(record)) {
    put(program::writeRecord(record), m_trace, m_traceName);
    return;
  }
  put(m_json ? program::writeRecord(record) : withoutControls(m_table.show(record)), stdout, "standard output");
  const auto* error = std::get_if<program::ErrorRecord>(&record);
  if (error != nullptr && (!m_json || m_isBroken)) {
    std::fprintf(stderr, "coppice-exec: %s\n", terminalLine(describe(error->error)).c_str());
  }
}

void Output::put(const std::string& text, std::FILE* to, const std::string& name) {
  if ((to == stdout && m_isBroken) || text.empty()) {
    return;
  }
  if (std::fwrite(text.data(), 1, text.size(), to) != text.size() || std::fflush(to) != 0) {
    const int error = errno;
    m_isBroken = m_isBroken || to == stdout;
    if (m_fault.empty()) {
      m_fault = name + " cannot be written: " + std::strerror(error);
    }
  }
}

std::optional<std::string> Output::fault() const {
  const std::lock_guard lock(m_mutex);
  return m_fault.empty() ? std::nullopt : std::optional<std::string>(m_fault);
}

}  // namespace coppice::executor
