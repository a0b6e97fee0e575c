// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// Tables as text: fields in quotes may hold separators and line ends, lines that begin with # say nothing.
namespace coppice {

struct CsvRow {
  int line = 0;  ///< of its first field; 1-based
  std::vector<std::string> fields;
};

/// One logical row off the text at a time. The text must outlive it.
class CsvRows {
public:
  /// @param what the table in messages: "a table of links"
  CsvRows(std::string_view text, char separator, std::string fileName, std::string what);

  /// nullopt at the end. Errors: badInput naming the line.
  Result<std::optional<CsvRow>> next();

private:
  Result<CsvRow> readRow();
  [[nodiscard]] bool readQuoted(std::string& field);
  [[nodiscard]] bool isAtFieldEnd() const;

  std::string_view m_text;
  char m_separator;
  std::string m_fileName;
  std::string m_what;
  std::size_t m_at = 0;
  int m_line = 1;
};

/// Comma, semicolon or tab: the one that the first line has most of.
[[nodiscard]] char csvSeparator(std::string_view text);
/// The text as a field between commas, in quotes where it needs them.
[[nodiscard]] std::string csvField(const std::string& text);
/// Without blanks at both ends.
[[nodiscard]] std::string trimmedCell(std::string_view text);

}  // namespace coppice
