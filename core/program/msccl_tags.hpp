// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/finding_sink.hpp"

/// The lexical half of reading MSCCL XML: tags as a lenient reader sees them, with every departure from what the
/// runtimes' own parser accepts (formats note, 1.1) reported.
namespace coppice::program {

/// Every rule the reader knows; findings of one rule beyond the first few are counted, not listed.
enum class Rule {
  byteOrderMark,
  prolog,
  declaration,
  tab,
  nulByte,
  strayText,
  commentEquals,
  commentOpen,
  lineBreakInTag,
  singleQuotes,
  unquotedValue,
  openValue,
  noValue,
  spacedEquals,
  noSpaceBetween,
  emptySlot,
  droppedAttribute,
  longName,
  longValue,
  valueLineBreak,
  malformedTag,
  closeTag,
  nesting,
  missingClose,
  duplicateAttribute,
  unknownAttribute,
  unknownElement,
  firstElement,
  secondAlgo,
  missingAttribute,
  number,
  octal,
  algoValue,
  gpuId,
  chunks,
  tbId,
  peer,
  channel,
  stepOrder,
  stepType,
  stepBuffer,
  stepCount,
  stepOffset,
  dependency,
  nop,
  stepChild,
  tooMany
};

struct Attribute {
  std::string_view key;
  std::string_view value;
  std::size_t at = 0;  ///< byte offset of the key in the text
};

struct Tag {
  enum class Kind { open, single, close };
  Kind kind = Kind::open;
  std::string_view name;
  std::size_t at = 0;  ///< byte offset of '<'
  std::vector<Attribute> attributes;
};

/// Where findings of one text go; turns byte offsets into lines and columns.
class TextReport {
public:
  TextReport(std::string_view text, std::string_view fileName) : m_text(text), m_fileName(fileName) {}

  void add(Rule rule, Severity severity, std::size_t at, std::string text, std::string fix = {},
           const ElementRef& element = {});
  /// Line and column of a byte offset.
  [[nodiscard]] Place place(std::size_t at, const ElementRef& element = {});
  [[nodiscard]] std::vector<Finding> take() { return m_sink.take(); }

private:
  std::string_view m_text;
  std::string_view m_fileName;
  FindingSink m_sink;
  std::size_t m_knownAt = 0;  ///< lines are counted onwards from the last place asked for, or from the start
  std::size_t m_knownLineStart = 0;
  int m_knownLine = 1;
};

/// Cuts the text into tags; comments and white space vanish. Never fails: it reports and continues at the next '<'.
class TagReader {
public:
  TagReader(std::string_view text, TextReport& report);

  /// The next tag; false at the end of the text. Views point into the text.
  bool next(Tag& tag);

private:
  [[nodiscard]] bool atEnd() const { return m_at >= m_text.size(); }
  [[nodiscard]] bool startsWith(std::string_view what) const { return m_text.substr(m_at).starts_with(what); }
  void skipBetween();
  void skipComment();
  void skipInstruction();
  void skipDeclaration();
  void readCloseTag(Tag& tag);
  void readOpenTag(Tag& tag);
  void readAttribute(Tag& tag, int& slots);
  std::string_view readName();
  std::string_view readValue();

  std::string_view m_text;
  TextReport& m_report;
  std::size_t m_at = 0;
};

}  // namespace coppice::program
