// SPDX-License-Identifier: Apache-2.0
#include "base/csv.hpp"

#include <algorithm>
#include <utility>

namespace coppice {
namespace {

Error csvFault(const std::string& fileName, int line, std::string message, std::string fix) {
  return Error{ErrorCode::badInput, std::move(message), std::move(fix), {.file = fileName, .line = line}};
}

/// First line that says something.
std::string_view csvFirstLine(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::string content = trimmedCell(line);
    if (!content.empty() && content.front() != '#') {
      return line;
    }
    if (end == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

CsvRows::CsvRows(std::string_view text, char separator, std::string fileName, std::string what)
    : m_text(text), m_separator(separator), m_fileName(std::move(fileName)), m_what(std::move(what)) {}

Result<std::optional<CsvRow>> CsvRows::next() {
  for (;;) {
    if (m_at >= m_text.size()) {
      return std::optional<CsvRow>();
    }
    if (m_text[m_at] == '#') {
      const std::size_t end = m_text.find('\n', m_at);
      m_at = end == std::string_view::npos ? m_text.size() : end + 1;
      ++m_line;
      continue;
    }
    auto row = readRow();
    if (!row) {
      return row.error();
    }
    const bool isEmpty = row->fields.size() == 1 && row->fields.front().empty();
    if (!isEmpty) {
      return std::optional<CsvRow>(std::move(*row));
    }
  }
}

Result<CsvRow> CsvRows::readRow() {
  CsvRow row;
  row.line = m_line;
  constexpr std::size_t kMaxFields = 64;
  for (;;) {
    std::string field;
    if (m_at < m_text.size() && m_text[m_at] == '"') {
      if (!readQuoted(field)) {
        return csvFault(m_fileName, row.line, "a quoted field is not closed", "add the missing quote");
      }
      while (!isAtFieldEnd()) {
        if (m_text[m_at] != ' ' && m_text[m_at] != '\t') {
          return csvFault(m_fileName, row.line, "text follows a closing quote", "put the whole field in quotes");
        }
        ++m_at;
      }
    } else {
      const std::size_t begin = m_at;
      while (!isAtFieldEnd()) {
        ++m_at;
      }
      field = trimmedCell(m_text.substr(begin, m_at - begin));
    }
    row.fields.push_back(std::move(field));
    if (row.fields.size() > kMaxFields) {
      return csvFault(m_fileName, row.line, "more than " + std::to_string(kMaxFields) + " fields in one row",
                      "check that it is " + m_what);
    }
    if (m_at < m_text.size() && m_text[m_at] == m_separator) {
      ++m_at;
      continue;
    }
    if (m_at < m_text.size()) {
      m_at += m_text[m_at] == '\r' && m_at + 1 < m_text.size() && m_text[m_at + 1] == '\n' ? 2 : 1;
      ++m_line;
    }
    return row;
  }
}

bool CsvRows::readQuoted(std::string& field) {
  for (++m_at; m_at < m_text.size(); ++m_at) {
    if (m_text[m_at] == '"') {
      if (m_at + 1 >= m_text.size() || m_text[m_at + 1] != '"') {
        ++m_at;
        return true;
      }
      ++m_at;
    }
    m_line += m_text[m_at] == '\n' ? 1 : 0;
    field += m_text[m_at];
  }
  return false;
}

bool CsvRows::isAtFieldEnd() const {
  return m_at >= m_text.size() || m_text[m_at] == m_separator || m_text[m_at] == '\n' || m_text[m_at] == '\r';
}

char csvSeparator(std::string_view text) {
  const std::string_view line = csvFirstLine(text);
  char best = ',';
  for (const char candidate : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), candidate) > std::count(line.begin(), line.end(), best)) {
      best = candidate;
    }
  }
  return best;
}

std::string csvField(const std::string& text) {
  if (!text.empty() && text.find_first_of(",;\t\"\r\n") == std::string::npos && text == trimmedCell(text) &&
      text.front() != '#') {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string trimmedCell(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

}  // namespace coppice
