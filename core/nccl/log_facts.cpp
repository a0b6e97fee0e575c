// SPDX-License-Identifier: Apache-2.0
#include "nccl/log_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/ascii.hpp"
#include "base/collective.hpp"
#include "base/numbers.hpp"

namespace coppice::nccl {
namespace {

constexpr int kMaxRank = 1 << 20;
constexpr int kMaxChannel = 1024;

/// Reads a text from its front; each step says whether it fits.
class Scan {
public:
  explicit Scan(std::string_view text) : m_text(text) {}

  bool is(std::string_view literal) {
    if (!m_text.starts_with(literal)) {
      return false;
    }
    m_text.remove_prefix(literal.size());
    return true;
  }
  void blanks() {
    while (!m_text.empty() && (m_text.front() == ' ' || m_text.front() == '\t')) {
      m_text.remove_prefix(1);
    }
  }
  bool number(int& value, int min, int max) {
    const auto [end, error] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), value);
    if (error != std::errc() || value < min || value > max) {
      return false;
    }
    m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
    return true;
  }
  bool rank(int& value) { return number(value, -1, kMaxRank); }
  bool channel(int& value) { return number(value, 0, kMaxChannel); }
  std::string_view word(std::string_view ends) {
    const std::size_t size = std::min(m_text.find_first_of(ends), m_text.size());
    const std::string_view word = m_text.substr(0, size);
    m_text.remove_prefix(size);
    return word;
  }
  bool behind(std::string_view mark) {
    const std::size_t at = m_text.find(mark);
    if (at == std::string_view::npos) {
      return false;
    }
    m_text.remove_prefix(at + mark.size());
    return true;
  }
  [[nodiscard]] bool isEmpty() const { return m_text.empty(); }
  [[nodiscard]] std::string_view rest() const { return m_text; }

private:
  std::string_view m_text;
};

/// RCCL ends lines about rings with " comm 0x... nRanks 08 busId c1000".
std::string_view withoutComm(std::string_view text) {
  const std::size_t at = text.rfind(" comm 0x");
  return at == std::string_view::npos ? text : text.substr(0, text.find_last_not_of(' ', at) + 1);
}

std::string lettersOf(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_' && c != '-') {
      letters += lowered(c);
    }
  }
  return letters;
}

template <std::size_t count>
std::string nameOf(std::string_view word, const std::string_view (&names)[count]) {
  if (const auto index = numberIn<std::size_t>(word)) {
    return *index < count ? std::string(names[*index]) : std::string(word);
  }
  const std::string letters = lettersOf(word);
  for (const std::string_view name : names) {
    if (lettersOf(name) == letters) {
      return std::string(name);
    }
  }
  return std::string(word);
}

std::optional<double> decimalOf(std::string_view word) {
  const auto value = numberIn<double>(word);
  return value && *value >= 0 && *value <= 1e15 ? value : std::nullopt;
}

}  // namespace

std::string algorithmName(std::string_view word) {
  return nameOf(word, kAlgorithms);
}

std::string protocolName(std::string_view word) {
  return nameOf(word, kProtocols);
}

std::string collectiveName(std::string_view word) {
  const auto collective = parseCollective(lettersOf(word));
  return std::string(collective ? toString(*collective) : word);
}

std::string_view wordAfter(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    if ((at == 0 || text[at - 1] == ' ') && begin < text.size() && text[begin] == ' ') {
      const std::size_t start = std::min(text.find_first_not_of(' ', begin), text.size());
      return text.substr(start, std::min(text.find_first_of(" ,", start), text.size()) - start);
    }
  }
  return {};
}

std::optional<RankLine> readRankLine(std::string_view text) {
  RankLine line;
  line.isLayout = text.starts_with("comm 0x") && text.find(" localRanks ") != std::string_view::npos;
  const std::size_t init = line.isLayout ? text.size() : text.find("Init ");
  const std::size_t comm = text.find("comm 0x");
  if (init == std::string_view::npos || comm == std::string_view::npos || comm > init) {
    return std::nullopt;
  }
  line.isComplete = text.substr(init).starts_with("Init COMPLETE");
  if (!line.isLayout && !line.isComplete && !text.substr(init).starts_with("Init START")) {
    return std::nullopt;
  }
  const std::string_view body = text.substr(comm, init - comm);
  const auto number = [&](std::string_view key, int& value) {
    const auto found = numberIn<int>(wordAfter(body, key));
    value = found.value_or(value);
    return found.has_value();
  };
  line.comm = wordAfter(body, "comm");
  if ((!number("nranks", line.ranks) && !number("nRanks", line.ranks)) || !number("rank", line.rank) ||
      line.ranks < 1 || line.ranks > kMaxRank || line.rank < 0 || line.rank >= line.ranks) {
    return std::nullopt;
  }
  number("nNodes", line.nodes);
  line.nodes = std::clamp(line.nodes, 0, line.ranks);
  number("cudaDev", line.device);
  number("nvmlDev", line.nvmlDevice);
  line.busId = wordAfter(body, "busId");
  line.commId = wordAfter(body, "commId");
  line.parent = wordAfter(body, "parent");
  line.color = wordAfter(body, "color");
  // childCount since 2.30
  line.splitCount = wordAfter(body, "splitCount");
  line.splitCount = line.splitCount.empty() ? wordAfter(body, "childCount") : line.splitCount;
  return line;
}

std::optional<RingLine> readRingLine(std::string_view text) {
  Scan scan(withoutComm(text));
  RingLine line;
  if (!scan.is("Channel ") || !scan.channel(line.channel) || !scan.is("/") || !scan.channel(line.channels) ||
      !scan.is(" :")) {
    return std::nullopt;
  }
  for (;;) {
    scan.blanks();
    if (scan.isEmpty()) {
      break;
    }
    if (scan.is("...")) {
      line.isCut = true;
      scan.blanks();
      break;
    }
    int rank = 0;
    if (!scan.number(rank, 0, kMaxRank)) {
      return std::nullopt;
    }
    line.ranks.push_back(rank);
  }
  if (!scan.isEmpty() || line.ranks.empty()) {
    return std::nullopt;
  }
  return line;
}

std::optional<HopLine> readHopLine(std::string_view text) {
  Scan scan(withoutComm(text));
  HopLine line;
  if (!scan.is("Ring ") || !scan.channel(line.channel) || !scan.is(" : ") || !scan.rank(line.previous) ||
      !scan.is(" -> ") || !scan.rank(line.rank) || !scan.is(" -> ") || !scan.rank(line.next) || line.rank < 0 ||
      !scan.isEmpty()) {
    return std::nullopt;
  }
  return line;
}

std::vector<TreeEntry> readTreesLine(std::string_view text) {
  std::vector<TreeEntry> entries;
  const std::string_view body = withoutComm(text);
  const bool mayBeCut = body.size() == text.size();
  Scan scan(body);
  if (!scan.is("Trees")) {
    return entries;
  }
  for (;;) {
    scan.blanks();
    TreeEntry entry;
    if (!scan.is("[") || !scan.channel(entry.channel) || !scan.is("]")) {
      break;
    }
    scan.blanks();
    if (!scan.rank(entry.children[0]) || !scan.is("/") || !scan.rank(entry.children[1]) || !scan.is("/") ||
        !scan.rank(entry.children[2]) || !scan.is("->") || !scan.rank(entry.rank) || !scan.is("->") ||
        !scan.rank(entry.parent) || entry.rank < 0) {
      break;
    }
    entry.isDoubtful = mayBeCut && scan.isEmpty();
    entries.push_back(entry);
  }
  return entries;
}

std::optional<TreeEntry> readTreeLine(std::string_view text) {
  Scan scan(withoutComm(text));
  TreeEntry entry;
  if (!scan.is("Tree ") || !scan.channel(entry.channel) || !scan.is(" : ") || !scan.rank(entry.parent) ||
      !scan.is(" -> ") || !scan.rank(entry.rank) || !scan.is(" -> ") || !scan.rank(entry.children[0]) ||
      !scan.is("/") || !scan.rank(entry.children[1]) || !scan.is("/") || !scan.rank(entry.children[2]) ||
      entry.rank < 0 || !scan.isEmpty()) {
    return std::nullopt;
  }
  return entry;
}

std::optional<EdgeLine> readEdgeLine(std::string_view text) {
  Scan scan(withoutComm(text));
  EdgeLine line;
  if (!scan.is("Channel ") || !scan.channel(line.channel)) {
    return std::nullopt;
  }
  if (scan.is("/") && !scan.channel(line.connection)) {
    return std::nullopt;
  }
  const auto end = [&](int& rank) {
    return scan.number(rank, 0, kMaxRank) && scan.is("[") && !scan.word("]").empty() && scan.is("]");
  };
  if (!scan.is(" : ") || !end(line.from) || !scan.is(" -> ") || !end(line.to) || !scan.is(" ")) {
    return std::nullopt;
  }
  line.isReceive = scan.is("[receive] ");
  if (!line.isReceive) {
    scan.is("[send] ");
  }
  if (!scan.is("via ")) {
    return std::nullopt;
  }
  line.via = scan.rest();
  // "NET/IB/3(6)/GDRDMA", also with the name of a plug-in before the number.
  Scan net(line.via);
  if (net.is("NET/")) {
    net.word("/");
    if (!net.is("/") || !net.number(line.net, 0, kMaxRank)) {
      line.net = -1;
    }
  }
  return line;
}

std::optional<Choice> readChoiceLine(std::string_view text) {
  const std::size_t bytes = text.find(" Bytes -> ");
  if (bytes == std::string_view::npos) {
    return std::nullopt;
  }
  Choice choice;
  const std::string_view head = text.substr(0, bytes);
  const std::size_t blank = head.find_last_of(" :");
  const std::string_view count = blank == std::string_view::npos ? head : head.substr(blank + 1);
  choice.loggedBytes = numberIn<std::int64_t>(count).value_or(-1);
  if (choice.loggedBytes < 0) {
    return std::nullopt;
  }
  choice.bytes = choice.loggedBytes;
  if (const std::size_t colon = head.find(':'); colon != std::string_view::npos) {
    choice.collective = collectiveName(head.substr(0, head.find_first_of(" :[")));
  }
  const std::string_view body = text.substr(bytes + std::string_view(" Bytes ->").size());
  if (const std::string_view kernel = wordAfter(body, "Kernel"); !kernel.empty()) {
    choice.algorithm = "Symmetric " + std::string(kernel);
    if (const auto channels = decimalOf(wordAfter(body, "nchannels")); channels && *channels < kMaxChannel) {
      choice.channels = static_cast<int>(*channels);
    }
    return choice;
  }
  const std::string_view algorithm = wordAfter(body, "Algo");
  const std::string_view protocol = wordAfter(body, "proto");
  if (algorithm.empty() || protocol.empty()) {
    return std::nullopt;
  }
  choice.algorithm = algorithmName(algorithm);
  choice.protocol = protocolName(protocol);
  if (const auto time = decimalOf(wordAfter(body, "time"))) {
    choice.time = Microseconds(*time);
  }
  Scan scan(body);
  int low = 0;
  int high = 0;
  if (scan.behind("channel{Lo..Hi}={") && scan.channel(low) && scan.is("..") && scan.channel(high) && high >= low) {
    choice.channels = high - low + 1;
  }
  return choice;
}

std::optional<SearchLine> readSearchLine(std::string_view text) {
  Scan scan(text);
  scan.blanks();
  SearchLine line;
  if (!scan.is("Pattern ") || !scan.channel(line.pattern) || !scan.is(", crossNic ") || !scan.channel(line.crossNic) ||
      !scan.is(", nChannels ") || !scan.channel(line.channels) || !(scan.is(", bw ") || scan.is(", speed "))) {
    return std::nullopt;
  }
  line.intra = scan.word("/");
  scan.is("/");
  line.inter = scan.word(",");
  if (!scan.is(", type ")) {
    return std::nullopt;
  }
  line.typeIntra = scan.word("/");
  scan.is("/");
  line.typeInter = scan.word(",");
  return line;
}

std::optional<NvlsHeads> readNvlsLine(std::string_view text) {
  Scan scan(withoutComm(text));
  NvlsHeads heads;
  if (!scan.is("NVLS Head ")) {
    return std::nullopt;
  }
  scan.blanks();
  if (!scan.channel(heads.channel) || !scan.is(":")) {
    return std::nullopt;
  }
  for (;;) {
    scan.blanks();
    int rank = 0;
    if (!scan.number(rank, 0, kMaxRank)) {
      break;
    }
    heads.ranks.push_back(rank);
  }
  if (!scan.isEmpty() || heads.ranks.empty()) {
    return std::nullopt;
  }
  return heads;
}

std::optional<int> readCollnetHead(std::string_view text) {
  Scan scan(text);
  int channel = 0;
  int connection = 0;
  int rank = 0;
  if (!scan.is("CollNet ") || !scan.channel(channel) || !scan.is("/") || !scan.channel(connection) || !scan.is(" : ") ||
      !scan.number(rank, 0, kMaxRank) || !scan.is(" [")) {
    return std::nullopt;
  }
  return rank;
}

std::vector<TreeEntry> readCollnetChains(std::string_view text) {
  std::vector<TreeEntry> entries;
  Scan scan(text);
  if (!scan.is("Connected Collnet Chains")) {
    return entries;
  }
  for (;;) {
    scan.blanks();
    TreeEntry entry;
    if (!scan.is("[") || !scan.channel(entry.channel) || !scan.is("] ") || !scan.rank(entry.children[0]) ||
        !scan.is("->") || !scan.rank(entry.rank) || !scan.is("->") || !scan.rank(entry.parent) || entry.rank < 0) {
      return entries;
    }
    entries.push_back(entry);
  }
}

void EstimateTable::take(std::string_view text, std::vector<Estimate>& estimates) {
  std::vector<std::string_view> cells;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    std::string_view cell = text.substr(at, end - at);
    while (!cell.empty() && cell.front() == ' ') {
      cell.remove_prefix(1);
    }
    while (!cell.empty() && cell.back() == ' ') {
      cell.remove_suffix(1);
    }
    cells.push_back(cell);
    at = end + 1;
  }
  if (cells.size() < 2) {
    return;
  }
  if (cells.front() == "Algorithm") {
    m_algorithms.clear();
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (!cells[i].empty()) {
        m_algorithms.push_back(algorithmName(cells[i]));
      }
    }
    return;
  }
  static constexpr std::string_view kRows[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
  if (std::find(std::begin(kRows), std::end(kRows), cells.front()) == std::end(kRows)) {
    return;
  }
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const std::size_t slash = cells[i].find('/');
    const std::size_t column = (i - 1) / std::size(kProtocols);
    if (slash == std::string_view::npos || column >= m_algorithms.size()) {
      continue;
    }
    const auto latency = decimalOf(cells[i].substr(0, std::min(cells[i].find(' '), slash)));
    const std::string_view second =
        cells[i].substr(std::min(cells[i].find_first_not_of(' ', slash + 1), cells[i].size()));
    const auto algbw = decimalOf(second);
    if (latency && algbw && *algbw > 0) {
      estimates.push_back({.collective = collectiveName(cells.front()),
                           .algorithm = m_algorithms[column],
                           .protocol = std::string(kProtocols[(i - 1) % std::size(kProtocols)]),
                           .latency = Microseconds(*latency),
                           .algbw = Throughput(*algbw)});
    }
  }
}

}  // namespace coppice::nccl
