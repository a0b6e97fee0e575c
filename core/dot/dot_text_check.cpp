// SPDX-License-Identifier: Apache-2.0
#include "dot/dot_text_check.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>

#include "base/ascii.hpp"
#include "io/text_place.hpp"

namespace coppice::dot {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxAttributeNames = 256;
constexpr std::size_t kMaxName = 4096;

class Scanner {
public:
  Scanner(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

  Outcome run() {
    if (m_text.size() > kMaxBytes) {
      return error(0, ErrorCode::limit, "the DOT text is larger than 16 MiB", "give a smaller graph");
    }
    if (const std::size_t nul = m_text.find('\0'); nul != std::string_view::npos) {
      return error(nul, ErrorCode::badInput, "the DOT text contains a zero byte", "give DOT as text");
    }
    if (const auto byte = io::firstIllFormedByte(m_text)) {
      return error(*byte, ErrorCode::badInput, "the DOT text is not UTF-8 here", "convert it to UTF-8");
    }
    while (m_at < m_text.size()) {
      if (auto outcome = step(); !outcome) {
        return outcome;
      }
    }
    return Done{};
  }

private:
  [[nodiscard]] bool startsWith(std::string_view what) const { return m_text.substr(m_at).starts_with(what); }

  [[nodiscard]] Error error(std::size_t offset, ErrorCode code, std::string message, std::string fix) const {
    Place where;
    where.file = m_fileName;
    where.line = 1;
    where.column = 1;
    for (std::size_t i = 0; i < offset; ++i) {
      where.column = m_text[i] == '\n' ? 1 : where.column + 1;
      where.line += m_text[i] == '\n' ? 1 : 0;
    }
    return {code, std::move(message), std::move(fix), std::move(where)};
  }

  void skipTo(std::string_view ends) {
    const std::size_t end = m_text.find_first_of(ends, m_at);
    m_at = end == std::string_view::npos ? m_text.size() : end;
  }

  static bool isWordByte(char c) {
    return isAlphanumeric(c) || c == '_' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  }

  void word(std::string_view text) {
    if (m_isJoining) {
      m_word += text.substr(0, kMaxName);
    } else {
      m_word = text.substr(0, kMaxName);
    }
    m_isJoining = false;
  }

  Outcome step() {
    const char c = m_text[m_at];
    if (startsWith("/*")) {
      return skipPast("*/", 2, "a comment /* is never closed", "close it with */");
    }
    if (startsWith("//")) {
      skipTo("\n");
    } else if (c == '#') {
      skipTo("\r\n");  // meant for preprocessor lines, but libcgraph takes it anywhere
    } else if (c == '"') {
      return string();
    } else if (c == '<') {
      return html();
    } else if (c == '{') {
      ++m_at;
      if (++m_depth > kMaxDepth) {
        return error(m_at - 1, ErrorCode::limit, "braces are nested more than 64 deep", "flatten the subgraphs");
      }
    } else if (c == '}') {
      ++m_at;
      --m_depth;
    } else if (c == '=') {
      ++m_at;
      m_names.insert(m_word);
      if (m_names.size() > kMaxAttributeNames) {
        return error(m_at - 1, ErrorCode::limit, "more than 256 different attribute names",
                     "leave out attributes that are not needed");
      }
    } else if (c == '+') {
      ++m_at;
      m_isJoining = true;
    } else if (isWordByte(c)) {
      const std::size_t start = m_at;
      while (m_at < m_text.size() && isWordByte(m_text[m_at])) {
        ++m_at;
      }
      word(m_text.substr(start, m_at - start));
    } else {
      ++m_at;
    }
    return Done{};
  }

  Outcome skipPast(std::string_view end, std::size_t from, const char* message, const char* fix) {
    const std::size_t found = m_text.find(end, m_at + from);
    if (found == std::string_view::npos) {
      return error(m_at, ErrorCode::badInput, message, fix);
    }
    m_at = found + end.size();
    return Done{};
  }

  Outcome string() {
    const std::size_t start = m_at++;
    while (m_at < m_text.size() && m_text[m_at] != '"') {
      m_at += m_text[m_at] == '\\' && m_at + 1 < m_text.size() ? 2 : 1;
    }
    if (m_at >= m_text.size()) {
      return error(start, ErrorCode::badInput, "a string \" is never closed", "close it with \"");
    }
    word(m_text.substr(start + 1, m_at - start - 1));
    ++m_at;
    return Done{};
  }

  Outcome html() {
    const std::size_t start = m_at;
    int depth = 0;
    while (m_at < m_text.size()) {
      if (startsWith("<!--")) {
        if (auto outcome = skipPast("-->", 4, "a comment <!-- is never closed", "close it with -->"); !outcome) {
          return outcome;
        }
        continue;
      }
      depth += m_text[m_at] == '<' ? 1 : (m_text[m_at] == '>' ? -1 : 0);
      ++m_at;
      if (depth == 0) {
        word(m_text.substr(start, m_at - start));
        return Done{};
      }
    }
    return error(start, ErrorCode::badInput, "an HTML value < is never closed", "close it with >");
  }

  std::string_view m_text;
  const std::string& m_fileName;
  std::size_t m_at = 0;
  int m_depth = 0;
  bool m_isJoining = false;
  std::string m_word;
  std::unordered_set<std::string> m_names;
};

}  // namespace

Outcome checkDotText(std::string_view text, const std::string& fileName) {
  return Scanner(text, fileName).run();
}

}  // namespace coppice::dot
