// SPDX-License-Identifier: Apache-2.0
#include "io/pasted_text.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace coppice::io {
namespace {

void appendUtf8(std::string& out, std::uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | (point >> 6));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | (point >> 12));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (point >> 18));
    out += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
}

/// Length of a colour's sequence whose escape character a page dropped: "[4m", "[0;31m"; 0 = it is none.
std::size_t bareColour(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && at < 12 && ((text[at] >= '0' && text[at] <= '9') || text[at] == ';')) {
    ++at;
  }
  return text.starts_with("[") && at > 1 && at < text.size() && text[at] == 'm' ? at + 1 : 0;
}

/// Without terminal control sequences, and with the line ends of one system; lines stay.
std::string withoutControlSequences(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const bool hasOldEnds = text.find('\n') == std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const std::size_t colour = bareColour(text.substr(i, 16)); colour > 0) {
      i += colour - 1;
      continue;
    }
    if (text[i] == '\r' && hasOldEnds) {
      out += '\n';
      continue;
    }
    if (hasOldEnds && text.substr(i, 2) == "\\n") {  // of a string in JSON or a program
      out += '\n';
      ++i;
      continue;
    }
    if (hasOldEnds && text.substr(i, 2) == "\\t") {
      out += '\t';
      ++i;
      continue;
    }
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && text[i] != '\n' && !(text[i] >= '@' && text[i] <= '~')) {
        ++i;
      }
      if (i < text.size() && text[i] == '\n') {
        out += '\n';
      }
    }
  }
  return out;
}

/// Spaces of every width as ' ', and invisible characters removed; with `marks`, what stands between cells as ' ' too:
/// bars, quotation marks, and the marks of bold type.
std::string withPlainSpaces(std::string_view text, bool marks) {
  constexpr std::string_view kSpaces[] = {
      "\xC2\xA0",     "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85",
      "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xAF", "\xE2\x81\x9F",
      "\xE3\x80\x80", "\xE2\x94\x82", "\xE2\x94\x83", "\xE2\x95\x91", "\xE2\x80\x9C", "\xE2\x80\x9D"};
  constexpr std::string_view kNothing[] = {"\xEF\xBB\xBF", "\xE2\x80\x8B", "\xE2\x80\x8C",
                                           "\xE2\x80\x8D", "\xE2\x81\xA0", "\xC2\xAD"};
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto starts = [rest = text.substr(i)](std::string_view word) { return rest.starts_with(word); };
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      if (text.substr(i).starts_with("&nbsp;")) {
        i += 5;
        out += ' ';
        continue;
      }
      out += marks && std::string_view("|\"\'`;*\v\f").find(text[i]) != std::string_view::npos ? ' ' : text[i];
    } else if (const auto* const space = std::find_if(std::begin(kSpaces), std::end(kSpaces), starts);
               space != std::end(kSpaces)) {
      out += ' ';
      i += space->size() - 1;
    } else if (const auto* const nothing = std::find_if(std::begin(kNothing), std::end(kNothing), starts);
               nothing != std::end(kNothing)) {
      i += nothing->size() - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// A rule between the rows of a table: nothing but -, =, +, : and blanks, with at least two of them.
bool isTableRule(std::string_view line) {
  int marks = 0;
  for (const char c : line) {
    if (c == '-' || c == '+' || c == ':') {
      ++marks;
    } else if (!isSpace(c)) {
      return false;
    }
  }
  return marks >= 2;
}

/// Without mpirun's tag ("[1,0]<stdout>:") and the marks of quoted mail ("> ").
std::string_view withoutTags(std::string_view line) {
  for (bool again = true; again;) {
    again = false;
    if (line.starts_with("[")) {
      const std::size_t close = line.find(']');
      if (close != std::string_view::npos && close < 64 && line.substr(close + 1).starts_with("<std")) {
        if (const std::size_t end = line.find(">:", close); end != std::string_view::npos && end < close + 12) {
          line.remove_prefix(end + 2);
          again = true;
        }
      }
    }
    if (line.starts_with(">")) {
      line.remove_prefix(1);
      again = true;
    } else if (line.starts_with(" >")) {
      line.remove_prefix(2);
      again = true;
    }
  }
  return line;
}

/// What a launcher set before the word: text up to a colon or a bracket without blanks in it ("dgx01:", "3:"). Empty:
/// nothing.
std::string_view launcherTag(std::string_view line, std::size_t word) {
  std::string_view before = line.substr(0, word);
  while (!before.empty() && isSpace(before.back())) {
    before.remove_suffix(1);
  }
  const bool isTag = before.size() > 1 && before.size() <= 64 && (before.back() == ':' || before.back() == ']') &&
                     std::none_of(before.begin(), before.end(), isSpace);
  return isTag ? before : std::string_view();
}

/// Removes what launchers set before the lines: the tags that stand before the word, else what all lines with the word
/// begin with.
void removePrefixes(std::vector<std::string>& lines, std::string_view word) {
  std::set<std::string, std::less<>> tags;
  std::optional<std::string> prefix;
  std::size_t with = 0;
  std::size_t tagged = 0;
  for (const std::string& line : lines) {
    const std::size_t at = line.find(word);
    if (at == std::string::npos) {
      continue;
    }
    ++with;
    if (const std::string_view tag = launcherTag(line, at); !tag.empty()) {
      ++tagged;
      tags.emplace(tag);
    }
    if (!prefix) {
      prefix = line.substr(0, at);
      continue;
    }
    const auto ends =
        std::mismatch(prefix->begin(), prefix->end(), line.begin(), line.begin() + static_cast<std::ptrdiff_t>(at));
    prefix->erase(ends.first, prefix->end());
  }
  if (with >= 2 && tagged == with) {
    for (std::string& line : lines) {
      const std::size_t end = line.find_first_of(" \t");
      if (const auto tag = std::string_view(line).substr(0, end); tags.contains(tag)) {
        line.erase(0, tag.size());
      }
    }
    return;
  }
  if (with < 2 || std::all_of(prefix->begin(), prefix->end(), isSpace)) {
    return;
  }
  for (std::string& line : lines) {
    if (line.starts_with(*prefix)) {
      line.erase(0, prefix->size());
    }
  }
}

/// The lines without tags and marks of mail.
std::vector<std::string> bareLines(const std::string& plain) {
  std::vector<std::string> lines;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(withoutTags(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

std::string joinedLines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    out += line;
    out += '\n';
  }
  return out;
}

}  // namespace

std::optional<std::string> utf8OfUtf16(std::string_view text) {
  if (text.size() < 4 || text.size() % 2 != 0) {
    return std::nullopt;
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  bool isLittle = byte(0) == 0xFF && byte(1) == 0xFE;
  bool isBig = byte(0) == 0xFE && byte(1) == 0xFF;
  if (!isLittle && !isBig) {
    // Without a mark: every other byte of the beginning is zero.
    const std::size_t sample = std::min<std::size_t>(text.size(), 64);
    std::size_t even = 0;
    std::size_t odd = 0;
    for (std::size_t i = 0; i < sample; ++i) {
      (i % 2 == 0 ? even : odd) += text[i] == '\0' ? 1 : 0;
    }
    isLittle = even == 0 && odd * 2 == sample;
    isBig = odd == 0 && even * 2 == sample;
    if (!isLittle && !isBig) {
      return std::nullopt;
    }
  }
  std::string out;
  out.reserve(text.size() / 2);
  const auto unit = [&](std::size_t i) -> std::uint32_t {
    return isLittle ? byte(i) | (byte(i + 1) << 8) : byte(i + 1) | (byte(i) << 8);
  };
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    std::uint32_t point = unit(i);
    if (i == 0 && point == 0xFEFF) {
      continue;
    }
    if (point >= 0xD800 && point < 0xDC00 && i + 3 < text.size() && unit(i + 2) >= 0xDC00 && unit(i + 2) < 0xE000) {
      point = 0x10000 + ((point - 0xD800) << 10) + (unit(i + 2) - 0xDC00);
      i += 2;
    } else if (point >= 0xD800 && point < 0xE000) {
      point = 0xFFFD;
    }
    appendUtf8(out, point);
  }
  return out;
}

std::string terminalText(std::string_view text, std::string_view word) {
  std::vector<std::string> lines = bareLines(withPlainSpaces(withoutControlSequences(text), true));
  for (std::string& line : lines) {
    if (isTableRule(line)) {
      line.clear();
    }
  }
  removePrefixes(lines, word);
  return joinedLines(lines);
}

std::string terminalLines(std::string_view text, std::string_view word) {
  std::vector<std::string> lines = bareLines(withPlainSpaces(withoutControlSequences(text), false));
  if (!word.empty()) {
    removePrefixes(lines, word);
  }
  return joinedLines(lines);
}

}  // namespace coppice::io
