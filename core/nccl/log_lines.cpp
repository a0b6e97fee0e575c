// SPDX-License-Identifier: Apache-2.0
#include "nccl/log_lines.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "io/line_tags.hpp"

namespace coppice::nccl {
namespace {

constexpr std::string_view kMark = " NCCL ";
constexpr int kMaxAge = 16;
constexpr std::size_t kMaxOpen = 64;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view withoutEnd(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  return line;
}

/// Takes what mpirun and NCCL put before a prefix off the end of what stands before it: "[1,3]<stdout>:",
/// "[2026-01-31 10:00:00] ".
std::string_view withoutKnownTags(std::string_view text) {
  for (;;) {
    const std::string_view tagged = withoutEnd(text);
    std::size_t close = std::string_view::npos;
    if (tagged.ends_with("<stdout>:") || tagged.ends_with("<stderr>:")) {
      close = tagged.size() - std::string_view("<stdout>:").size();
    } else if (tagged.ends_with("]")) {
      close = tagged.size();
    }
    if (close == std::string_view::npos || close == 0 || tagged[close - 1] != ']') {
      return text;
    }
    const std::size_t open = tagged.rfind('[', close);
    if (open == std::string_view::npos) {
      return text;
    }
    const std::string_view inside = tagged.substr(open + 1, close - open - 2);
    // Brackets of messages, as of "7[7]", hold no blank, comma or colon.
    if (close == tagged.size() && inside.find_first_of(" :,") == std::string_view::npos) {
      return text;
    }
    text = text.substr(0, open);
  }
}

}  // namespace

void LogLines::read(std::string_view text) {
  if (text.find('\x1b') != std::string_view::npos) {
    text = m_cleaned.emplace_back(io::withoutColours(text));
  }
  m_isShortened = true;
  findTags(text);
  findHosts(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    readLine(withoutEnd(text.substr(at, end - at)));
    at = end + 1;
  }
  flushOlder(0);
}

template <typename Take>
void LogLines::forEachMarked(std::string_view text, const Take& take) {
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    const std::size_t newline = text.rfind('\n', at);
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    take(text.substr(start, at + kMark.size() + 8 - start), at - start);
    at = std::min(text.find('\n', at), text.size());
  }
}

/// What stands before the prefixes of at least a tenth of the lines.
void LogLines::findTags(std::string_view text) {
  constexpr std::size_t kMaxLength = 200;
  constexpr std::size_t kMaxShapes = 4096;
  std::map<std::string, std::size_t> counts;
  std::size_t lines = 0;
  forEachMarked(text, [&](std::string_view line, std::size_t mark) {
    Prefix prefix;
    if (!prefixAt(line, mark, 0, prefix)) {
      return;
    }
    m_isShortened = false;
    ++lines;
    if (prefix.begin > 0 && prefix.begin <= kMaxLength && counts.size() < kMaxShapes) {
      ++counts[io::tagShape(line.substr(0, prefix.begin))];
    }
  });
  m_tags.clear();
  for (const auto& [shape, count] : counts) {
    const bool isBlank = shape.find_first_not_of(' ') == std::string::npos;
    if (count > 1 && (isBlank ? count == lines : count * 10 >= lines)) {
      m_tags.push_back(shape);
    }
  }
}

/// The names of hosts, from prefixes that nothing but tags precedes: where a process printed into the line of another,
/// its host is glued to the text before.
void LogLines::findHosts(std::string_view text) {
  forEachMarked(text, [&](std::string_view line, std::size_t mark) {
    Prefix prefix;
    if (!prefixAt(line, mark, 0, prefix)) {
      return;
    }
    const std::string_view before = withoutEnd(io::withoutLeadingTag(line.substr(0, prefix.begin), m_tags));
    // The rest of the line can hold only names that are glued or known.
    if (before.empty() || before.back() == ':' || before.back() == ']' || before.back() == '>') {
      m_hosts.insert(prefix.source.host);
      m_longestHost = std::max(m_longestHost, prefix.source.host.size());
    }
  });
}

/// Takes off the end of a text what was put before the prefix that follows it.
std::string_view LogLines::withoutTags(std::string_view text) const {
  for (const std::string& tag : m_tags) {
    // Numbers at its front would take digits of the text, and "[2] " is how channels of trees begin.
    if (tag.front() == io::kAnyNumber || tag.front() == ' ' || tag == std::string{'[', io::kAnyNumber, ']', ' '}) {
      continue;
    }
    for (std::size_t at = text.rfind(tag.front()); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : text.rfind(tag.front(), at - 1)) {
      if (io::tagLength(text.substr(at), tag) == text.size() - at) {
        return text.substr(0, at);
      }
    }
  }
  return withoutKnownTags(text);
}

/// @param mark where " NCCL " begins @param from what lies before belongs to another message
bool LogLines::prefixAt(std::string_view line, std::size_t mark, std::size_t from, Prefix& prefix) const {
  const std::string_view word = line.substr(mark + kMark.size());
  prefix.isWarning = word.starts_with("WARN");
  if (!prefix.isWarning && !word.starts_with("INFO") && !word.starts_with("TRACE") && !word.starts_with("VERSION")) {
    return false;
  }
  const std::size_t blank = std::min(word.find(' '), word.size());
  prefix.end = std::min(mark + kMark.size() + blank + 1, line.size());
  std::size_t at = mark;
  // A warning has its place in the source between the device and its mark.
  if (prefix.isWarning && at > from && line[at - 1] != ']') {
    const std::size_t close = line.rfind("] ", at - 1);
    if (close == std::string_view::npos || close < from || at - close > 200) {
      return false;
    }
    at = close + 1;
  }
  const auto digitsBefore = [&](std::size_t end) {
    std::size_t begin = end;
    while (begin > from && isDigit(line[begin - 1])) {
      --begin;
    }
    return line.substr(begin, end - begin);
  };
  if (at <= from || line[at - 1] != ']') {
    return false;
  }
  const std::string_view device = digitsBefore(at - 1);
  at -= 1 + device.size();
  if (device.empty() || at < from + 2 || line[at - 1] != '[' || line[at - 2] != ' ') {
    return false;
  }
  std::from_chars(device.data(), device.data() + device.size(), prefix.source.device);
  prefix.source.thread = digitsBefore(at - 2);
  at -= 2 + prefix.source.thread.size();
  if (prefix.source.thread.empty() || at <= from || line[at - 1] != ':') {
    return false;
  }
  prefix.source.process = digitsBefore(at - 1);
  at -= 1 + prefix.source.process.size();
  if (prefix.source.process.empty() || at <= from || line[at - 1] != ':') {
    return false;
  }
  const std::size_t end = at - 1;
  std::size_t begin = end;
  while (begin > from && line[begin - 1] != ' ' && line[begin - 1] != '\t' && line[begin - 1] != ':' &&
         line[begin - 1] != ']' && line[begin - 1] != '>') {
    --begin;
  }
  if (begin == end) {
    return false;
  }
  prefix.source.host = line.substr(begin, end - begin);
  prefix.begin = begin;
  // Glued: the longest known name at the end.
  if (!m_hosts.empty() && !m_hosts.contains(prefix.source.host)) {
    for (std::size_t size = std::min(m_longestHost, prefix.source.host.size() - 1); size > 0; --size) {
      const std::string_view tail = prefix.source.host.substr(prefix.source.host.size() - size);
      if (m_hosts.contains(tail)) {
        prefix.source.host = tail;
        prefix.begin = end - size;
        break;
      }
    }
  }
  return true;
}

/// "host:pid [dev] NCCL INFO ", "[pid:tid][dev] NCCL INFO ", "[dev] NCCL INFO ", "NCCL INFO ".
bool LogLines::shortPrefixIn(std::string_view line, Prefix& prefix) {
  constexpr std::string_view kWord = "NCCL ";
  const std::size_t mark = line.find(kWord);
  if (mark == std::string_view::npos || (mark > 0 && line[mark - 1] != ' ')) {
    return false;
  }
  const std::string_view level = line.substr(mark + kWord.size());
  prefix.isWarning = level.starts_with("WARN ");
  if (!prefix.isWarning && !level.starts_with("INFO ") && !level.starts_with("TRACE ")) {
    return false;
  }
  prefix.end = mark + kWord.size() + level.find(' ') + 1;
  std::string_view before = withoutEnd(line.substr(0, mark));
  // Takes "[...]" off the end.
  const auto brackets = [&] {
    const std::size_t open = before.rfind('[');
    if (!before.ends_with(']') || open == std::string_view::npos) {
      return std::string_view();
    }
    const std::string_view inside = before.substr(open + 1, before.size() - open - 2);
    before = withoutEnd(before.substr(0, open));
    return inside;
  };
  std::string_view who = brackets();
  if (!who.empty() && std::all_of(who.begin(), who.end(), isDigit)) {
    std::from_chars(who.data(), who.data() + who.size(), prefix.source.device);
    prefix.source.process = who;
    who = brackets();
  }
  if (who.empty()) {
    who = before.substr(before.rfind(' ') + 1);
  }
  const std::size_t colon = who.rfind(':');
  const std::string_view number = colon == std::string_view::npos ? std::string_view() : who.substr(colon + 1);
  if (number.empty() || !std::all_of(number.begin(), number.end(), isDigit)) {
    return true;
  }
  const std::string_view first = who.substr(0, colon);
  prefix.source.thread = number;
  if (!first.empty() && std::all_of(first.begin(), first.end(), isDigit)) {
    prefix.source.process = first;
  } else {
    prefix.source.process = number;
    prefix.source.host = first;
  }
  return true;
}

void LogLines::readLine(std::string_view line) {
  std::vector<Prefix> prefixes;
  std::size_t from = 0;
  if (Prefix prefix; m_isShortened && shortPrefixIn(line, prefix)) {
    prefixes.push_back(prefix);
  }
  for (std::size_t at = line.find(kMark); at != std::string_view::npos; at = line.find(kMark, at + 1)) {
    Prefix prefix;
    if (prefixAt(line, at, from, prefix)) {
      from = prefix.end;
      prefixes.push_back(prefix);
    }
  }
  for (Open& open : m_open) {
    ++open.age;
  }
  const std::string_view head =
      io::withoutLeadingTag(prefixes.empty() ? line : withoutTags(line.substr(0, prefixes.front().begin)), m_tags);
  if (head.find_first_not_of(' ') != std::string_view::npos) {
    const auto waiting =
        std::find_if(m_open.rbegin(), m_open.rend(), [](const Open& open) { return open.message.rest.empty(); });
    if (waiting != m_open.rend()) {
      waiting->message.rest = head;
    }
    m_plain(head);
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const Prefix& prefix = prefixes[i];
    const bool isLast = i + 1 == prefixes.size();
    const std::size_t end = isLast ? line.size() : prefixes[i + 1].begin;
    std::string_view text = line.substr(prefix.end, end - prefix.end);
    text = isLast ? text : withoutTags(text);
    flush(prefix.source);
    const LogMessage message{.source = prefix.source, .text = text, .isCut = !isLast, .isWarning = prefix.isWarning};
    if (isLast) {
      m_message(message);
    } else {
      m_open.push_back({message, 0});
    }
  }
  flushOlder(kMaxAge);
  while (m_open.size() > kMaxOpen) {
    m_message(m_open.front().message);
    m_open.pop_front();
  }
}

/// A thread that prints again has finished what it printed before.
void LogLines::flush(const LogSource& source) {
  for (std::size_t i = 0; i < m_open.size();) {
    const LogSource& open = m_open[i].message.source;
    if (open.thread == source.thread && open.process == source.process && open.host == source.host) {
      const LogMessage message = m_open[i].message;
      m_open.erase(m_open.begin() + static_cast<std::ptrdiff_t>(i));
      m_message(message);
    } else {
      ++i;
    }
  }
}

void LogLines::flushOlder(int age) {
  while (!m_open.empty() && m_open.front().age >= age) {
    const LogMessage message = m_open.front().message;
    m_open.pop_front();
    m_message(message);
  }
}

}  // namespace coppice::nccl
