// SPDX-License-Identifier: Apache-2.0
#include "program/msccl_tags.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace coppice::program {
namespace {

/// Attribute slots of one element in the runtimes' parser; an empty key costs one too.
constexpr int kAttributeSlots = 16;
/// Names and values live in buffers of 256 bytes with the final zero.
constexpr std::size_t kLongestToken = 255;

bool isBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r';
}
bool isForeignBlank(char c) {
  return c == '\t' || c == '\v' || c == '\f';
}
bool endsName(char c) {
  return isBlank(c) || isForeignBlank(c) || c == '>' || c == '/' || c == '<' || c == '=' || c == '"' || c == '\'';
}

}  // namespace

void TextReport::add(Rule rule, Severity severity, std::size_t at, std::string text, std::string fix,
                     const ElementRef& element) {
  if (m_sink.wants(static_cast<int>(rule), severity)) {
    m_sink.add(static_cast<int>(rule), {.severity = severity,
                                        .code = ErrorCode::badInput,
                                        .text = std::move(text),
                                        .fix = std::move(fix),
                                        .where = place(at, element)});
  }
}

Place TextReport::place(std::size_t at, const ElementRef& element) {
  at = std::min(at, m_text.size());
  if (at < m_knownAt) {
    m_knownAt = 0;
    m_knownLineStart = 0;
    m_knownLine = 1;
  }
  const std::string_view before = m_text.substr(0, at);
  for (auto newline = before.find('\n', m_knownAt); newline != std::string_view::npos;
       newline = before.find('\n', m_knownAt)) {
    ++m_knownLine;
    m_knownAt = newline + 1;
    m_knownLineStart = m_knownAt;
  }
  m_knownAt = at;
  return {.file = std::string(m_fileName),
          .line = m_knownLine,
          .column = static_cast<int>(at - m_knownLineStart) + 1,
          .element = element};
}

TagReader::TagReader(std::string_view text, TextReport& report) : m_text(text), m_report(report) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    m_report.add(Rule::byteOrderMark, Severity::error, 0, "the file begins with a byte order mark, which is refused",
                 "save it as plain UTF-8");
    m_at = 3;
  }
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    m_report.add(Rule::nulByte, Severity::error, nul, "the text contains a zero byte, which cuts what surrounds it",
                 "save it as plain text");
  }
}

bool TagReader::next(Tag& tag) {
  while (true) {
    skipBetween();
    if (atEnd()) {
      return false;
    }
    if (startsWith("<!--")) {
      skipComment();
    } else if (startsWith("<?")) {
      skipInstruction();
    } else if (startsWith("<!")) {
      skipDeclaration();
    } else {
      break;
    }
  }
  tag.at = m_at;
  tag.attributes.clear();
  if (startsWith("</")) {
    readCloseTag(tag);
  } else {
    readOpenTag(tag);
  }
  return true;
}

void TagReader::skipBetween() {
  while (!atEnd() && m_text[m_at] != '<') {
    if (isBlank(m_text[m_at])) {
      ++m_at;
    } else if (isForeignBlank(m_text[m_at])) {
      m_report.add(Rule::tab, Severity::error, m_at, "a tab between elements makes the runtime refuse the file",
                   "indent with spaces");
      while (!atEnd() && isForeignBlank(m_text[m_at])) {
        ++m_at;
      }
    } else {
      m_report.add(Rule::strayText, Severity::error, m_at, "text between elements makes the runtime refuse the file",
                   "remove it, or put it in a comment");
      m_at = std::min(m_text.find('<', m_at), m_text.size());
    }
  }
}

void TagReader::skipComment() {
  const std::size_t begin = m_at;
  // The runtime reads the comment's first word as an element name: an '=' there ends it with an error.
  std::size_t word = m_at + 1;
  while (word < m_text.size() && !isBlank(m_text[word]) && m_text[word] != '>' && m_text[word] != '/') {
    if (m_text[word] == '=') {
      m_report.add(Rule::commentEquals, Severity::error, begin,
                   "a comment with '=' before its first blank makes the runtime refuse the file",
                   "begin the comment with a blank");
      break;
    }
    ++word;
  }
  if (word - m_at > kLongestToken) {
    m_report.add(Rule::longName, Severity::error, begin,
                 "the first word of a comment has 255 or more characters, which the runtime refuses",
                 "begin the comment with a blank");
  }
  const std::size_t end = m_text.find("-->", m_at + 4);
  if (end == std::string_view::npos) {
    m_report.add(Rule::commentOpen, Severity::error, begin, "this comment never ends", "close it with -->");
    m_at = m_text.size();
  } else {
    m_at = end + 3;
  }
}

void TagReader::skipInstruction() {
  m_report.add(Rule::prolog, Severity::error, m_at,
               "a prolog or processing instruction makes the runtime refuse the file", "remove it");
  m_at = std::min(m_text.find('>', m_at), m_text.size() - 1) + 1;
}

void TagReader::skipDeclaration() {
  m_report.add(Rule::declaration, Severity::error, m_at,
               "a <!…> declaration is taken for an element that is never closed: the runtime refuses the file",
               "remove it");
  int depth = 0;
  while (!atEnd()) {
    const char c = m_text[m_at++];
    depth += c == '<' ? 1 : 0;
    depth -= c == '>' ? 1 : 0;
    if (depth == 0) {
      return;
    }
  }
}

std::string_view TagReader::readName() {
  const std::size_t begin = m_at;
  while (!atEnd() && !endsName(m_text[m_at])) {
    ++m_at;
  }
  const std::string_view name = m_text.substr(begin, m_at - begin);
  if (name.size() >= kLongestToken) {
    m_report.add(Rule::longName, Severity::error, begin,
                 "a name of " + std::to_string(name.size()) + " characters; the runtime refuses 255 and more");
  }
  return name;
}

void TagReader::readCloseTag(Tag& tag) {
  tag.kind = Tag::Kind::close;
  m_at += 2;
  tag.name = readName();
  if (!atEnd() && m_text[m_at] == '>') {
    ++m_at;
    return;
  }
  m_report.add(Rule::closeTag, Severity::error, tag.at,
               "closing tag of " + inQuotes(tag.name) + " must be exactly </name>",
               "remove everything between the name and '>'");
  while (!atEnd() && m_text[m_at] != '>' && m_text[m_at] != '<') {
    ++m_at;
  }
  if (!atEnd() && m_text[m_at] == '>') {
    ++m_at;
  }
}

void TagReader::readOpenTag(Tag& tag) {
  tag.kind = Tag::Kind::open;
  ++m_at;
  tag.name = readName();
  if (tag.name.empty()) {
    m_report.add(Rule::malformedTag, Severity::error, tag.at, "a tag without a name", "write < directly before a name");
  }
  int slots = 0;
  while (!atEnd()) {
    const char c = m_text[m_at];
    if (c == '>') {
      ++m_at;
      return;
    }
    if (c == '/') {
      tag.kind = Tag::Kind::single;
      ++m_at;
      if (!atEnd() && m_text[m_at] == '>') {
        ++m_at;
      } else {
        m_report.add(Rule::malformedTag, Severity::error, m_at - 1, "'/' inside a tag must be followed by '>'");
        m_at = std::min(m_text.find_first_of("<>", m_at), m_text.size());
        m_at += !atEnd() && m_text[m_at] == '>' ? 1 : 0;
      }
      return;
    }
    if (c == '<') {
      break;
    }
    if (c == ' ') {
      ++m_at;
      const char after = atEnd() ? '>' : m_text[m_at];
      if (after == ' ' || after == '>' || after == '/') {
        ++slots;
        m_report.add(Rule::emptySlot, Severity::note, m_at,
                     after == ' ' ? "two blanks in a row cost one of the 16 attribute slots of this element"
                                  : "a blank before the end of a tag costs one of the 16 attribute slots",
                     "write exactly one blank before each attribute and none before '>'");
      }
    } else if (c == '\n' || c == '\r') {
      m_report.add(Rule::lineBreakInTag, Severity::error, m_at, "a line break inside a tag: the runtime refuses it",
                   "write the tag with all its attributes on one line");
      while (!atEnd() && (isBlank(m_text[m_at]) || isForeignBlank(m_text[m_at]))) {
        ++m_at;
      }
    } else if (isForeignBlank(c)) {
      m_report.add(Rule::tab, Severity::error, m_at, "a tab inside a tag: the runtime takes it for part of a name",
                   "separate attributes with one blank");
      ++m_at;
    } else {
      readAttribute(tag, slots);
    }
  }
  m_report.add(Rule::malformedTag, Severity::error, tag.at, "tag " + inQuotes(tag.name) + " is not closed by '>'");
}

void TagReader::readAttribute(Tag& tag, int& slots) {
  Attribute attribute;
  attribute.at = m_at;
  const char before = m_text[m_at - 1];
  if (!isBlank(before) && !isForeignBlank(before)) {
    m_report.add(Rule::noSpaceBetween, Severity::error, m_at, "no blank before this attribute",
                 "separate attributes with one blank");
  }
  attribute.key = readName();
  if (attribute.key.empty() && !atEnd() && m_text[m_at] != '=') {  // a quote out of place
    m_report.add(Rule::malformedTag, Severity::error, m_at, "a quote where an attribute should begin");
    ++m_at;
    return;
  }
  std::size_t equals = m_at;
  while (equals < m_text.size() && (isBlank(m_text[equals]) || isForeignBlank(m_text[equals]))) {
    ++equals;
  }
  if (equals < m_text.size() && m_text[equals] == '=') {
    std::size_t quote = equals + 1;
    while (quote < m_text.size() && (isBlank(m_text[quote]) || isForeignBlank(m_text[quote]))) {
      ++quote;
    }
    if (equals != m_at || quote != equals + 1) {
      m_report.add(Rule::spacedEquals, Severity::error, attribute.at,
                   "blanks around '=' of " + inQuotes(attribute.key) + ": the runtime does not read the value",
                   "write key=\"value\"");
    }
    m_at = quote;
    attribute.value = readValue();
  } else {
    m_report.add(Rule::noValue, Severity::warning, attribute.at,
                 "attribute " + inQuotes(attribute.key) + " has no value; the runtime reads an empty one",
                 "write key=\"value\"");
  }
  if (attribute.value.size() > kLongestToken) {
    m_report.add(Rule::longValue, Severity::error, attribute.at,
                 "the value of " + inQuotes(attribute.key) + " has " + std::to_string(attribute.value.size()) +
                     " characters; more than 255 overwrite the runtime's memory",
                 "shorten it");
  }
  if (++slots > kAttributeSlots) {
    m_report.add(
        Rule::droppedAttribute, Severity::warning, attribute.at,
        "attribute " + inQuotes(attribute.key) + " comes after the 16 slots of an element; the runtime drops it",
        "remove attributes it does not read, and doubled blanks");
    return;
  }
  tag.attributes.push_back(attribute);
}

std::string_view TagReader::readValue() {
  const std::size_t begin = m_at;
  const char quote = atEnd() ? '\0' : m_text[m_at];
  if (quote != '"' && quote != '\'') {
    m_report.add(Rule::unquotedValue, Severity::error, begin, "a value without quotes: the runtime refuses it",
                 "put it in double quotes");
    while (!atEnd() && !endsName(m_text[m_at])) {
      ++m_at;
    }
    return m_text.substr(begin, m_at - begin);
  }
  if (quote == '\'') {
    m_report.add(Rule::singleQuotes, Severity::error, begin,
                 "a value in single quotes: the runtime reads on to the next double quote", "use double quotes");
  }
  const std::size_t end = m_text.find(quote, begin + 1);
  if (end == std::string_view::npos) {
    m_report.add(Rule::openValue, Severity::error, begin, "this value's closing quote is missing", "close the quote");
    m_at = m_text.size();
    return m_text.substr(begin + 1);
  }
  m_at = end + 1;
  const std::string_view value = m_text.substr(begin + 1, end - begin - 1);
  if (value.find('\n') != std::string_view::npos) {
    m_report.add(Rule::valueLineBreak, Severity::warning, begin, "this value runs over a line break",
                 "check its closing quote");
  }
  return value;
}

}  // namespace coppice::program
