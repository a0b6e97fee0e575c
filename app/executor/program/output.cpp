// SPDX-License-Identifier: Apache-2.0
#include "program/output.hpp"

namespace coppice::executor {

Output::~Output() {
  if (m_trace != nullptr) {
    std::fclose(m_trace);
  }
}

bool Output::traceTo(const std::string& file) {
  m_trace = std::fopen(file.c_str(), "we");
  return m_trace != nullptr;
}

void Output::write(const program::Record& record) {
  const std::lock_guard lock(m_mutex);
  if (m_quiet || m_isBroken) {
    return;
  }
  const auto put = [&](const std::string& text, std::FILE* to) {
    m_isBroken = m_isBroken || std::fwrite(text.data(), 1, text.size(), to) != text.size() || std::fflush(to) != 0;
  };
  if (m_trace != nullptr && std::holds_alternative<program::TraceRecord>(record)) {
    put(program::writeRecord(record), m_trace);
    return;
  }
  if (m_json) {
    put(program::writeRecord(record), stdout);
    return;
  }
  put(m_table.show(record), stdout);
  if (const auto* error = std::get_if<program::ErrorRecord>(&record)) {
    std::string text = describe(error->error);
    for (char& c : text) {
      c = c == '\n' || c == '\r' ? ' ' : c;
    }
    std::fprintf(stderr, "coppice-exec: %s\n", text.c_str());
  }
}

}  // namespace coppice::executor
