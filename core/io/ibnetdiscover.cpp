// SPDX-License-Identifier: Apache-2.0
#include "io/ibnetdiscover.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/natural_order.hpp"
#include "base/text.hpp"
#include "io/limits.hpp"
#include "io/pasted_text.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxName = 128;

/// GB/s of one lane and direction after encoding; nullopt for a speed that the table does not have.
std::optional<Bandwidth> laneRate(std::string_view speed) {
  struct Row {
    std::string_view name;
    std::int64_t numerator;
    std::int64_t denominator;
  };
  constexpr Row kRows[] = {{"SDR", 1, 4},  {"DDR", 1, 2},  {"QDR", 1, 1},  {"FDR10", 5, 4}, {"FDR", 75, 44},
                           {"EDR", 25, 8}, {"HDR", 25, 4}, {"NDR", 25, 2}, {"XDR", 25, 1}};
  for (const Row& row : kRows) {
    if (row.name == speed) {
      return Bandwidth(row.numerator, row.denominator);
    }
  }
  return std::nullopt;
}

/// The text between the next two quotation marks, which it leaves behind; nullopt if there are none.
std::optional<std::string_view> quoted(std::string_view& rest) {
  const std::size_t open = rest.find('"');
  const std::size_t close = open == std::string_view::npos ? open : rest.find('"', open + 1);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view text = rest.substr(open + 1, close - open - 1);
  rest.remove_prefix(close + 1);
  return text;
}

/// The number in brackets that the text begins with, which it leaves behind.
std::optional<int> bracketed(std::string_view& rest) {
  rest = trimmed(rest);
  if (!rest.starts_with("[")) {
    return std::nullopt;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
  const std::size_t at = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc{} || at >= rest.size() || rest[at] != ']' || number < 0) {
    return std::nullopt;
  }
  rest.remove_prefix(at + 1);
  // A chassis has its outer port beside it: "[3][ext 12]".
  if (const std::size_t close = rest.find(']'); rest.starts_with("[ext ") && close != std::string_view::npos) {
    rest.remove_prefix(close + 1);
  }
  return number;
}

class IbReader {
public:
  IbReader(std::string_view text, std::string fileName)
      : m_text(terminalLines(text, "devid=")), m_fileName(std::move(fileName)) {}

  ReadNetwork run() {
    readLines();
    if (m_nodes.empty()) {
      refuse(0, "the text has no switch and no adapter", "give the output of: ibnetdiscover");
    }
    collect();
    return std::move(m_result);
  }

private:
  enum class Kind { unknown, network, adapter, router };

  struct Node {
    Kind kind = Kind::unknown;
    std::string name;
    bool hasRecord = false;
  };

  struct Link {
    int a = 0;
    int aPort = 0;
    int b = 0;
    int bPort = 0;
    Bandwidth bandwidth;
  };

  [[noreturn]] void refuse(int line, std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, line > 0 ? 1 : 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_result.findings.push_back(
        {severity, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName, 0, 0, {}}});
  }

  static Kind kindOf(std::string_view guid) {
    return guid.starts_with("S-")   ? Kind::network
           : guid.starts_with("H-") ? Kind::adapter
           : guid.starts_with("R-") ? Kind::router
                                    : Kind::unknown;
  }

  int nodeOf(std::string_view guid, int line) {
    const auto [entry, isNew] = m_index.try_emplace(std::string(guid), static_cast<int>(m_nodes.size()));
    if (isNew) {
      if (m_nodes.size() >= kMaxNetworkNodes) {
        refuse(line, "more than " + std::to_string(kMaxNetworkNodes) + " nodes", "give the output for one fabric",
               ErrorCode::limit);
      }
      const Kind kind = kindOf(guid);
      if (kind == Kind::unknown) {
        refuse(line, "node " + inQuotes(guid) + " is neither a switch (S-), an adapter (H-) nor a router (R-)",
               "give the output as ibnetdiscover wrote it");
      }
      m_nodes.push_back({kind, {}, false});
    }
    return entry->second;
  }

  void name(int node, std::string_view text) {
    if (m_nodes[static_cast<std::size_t>(node)].name.empty()) {
      m_nodes[static_cast<std::size_t>(node)].name = std::string(text.substr(0, kMaxName));
    }
  }

  void readLines() {
    int number = 0;
    int current = -1;
    std::string_view rest = m_text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++number;
      if (line.empty()) {
        current = -1;
      } else if (line.starts_with("Switch") || line.starts_with("Ca") || line.starts_with("Rt")) {
        current = readNode(line, number);
      } else if (line.size() > 1 && line[0] == '[' && line[1] >= '0' && line[1] <= '9') {  // else a shell's prompt
        if (current < 0) {
          refuse(number, "a cable before the line of its node", "give the output as ibnetdiscover wrote it");
        }
        readCable(line, current, number);
      }
    }
  }

  int readNode(std::string_view line, int number) {
    std::string_view rest = line;
    const auto guid = quoted(rest);
    if (!guid) {
      refuse(number, "a line of a node without its GUID in quotation marks",
             "give the output as ibnetdiscover wrote it");
    }
    const int node = nodeOf(*guid, number);
    Node& entry = m_nodes[static_cast<std::size_t>(node)];
    if (entry.hasRecord) {
      refuse(number, "node " + inQuotes(*guid) + " appears twice", "give the output for one fabric");
    }
    entry.hasRecord = true;
    if (const auto text = quoted(rest)) {
      entry.name = std::string(text->substr(0, kMaxName));
    }
    return node;
  }

  /// `[1] "H-.."[1](guid) # "host mlx5_0" lid 5 4xNDR`, and at an adapter `[1](guid) "S-.."[7] # lid 5 lmc 0 "leaf" lid
  /// 1 4xNDR`.
  void readCable(std::string_view line, int node, int number) {
    std::string_view rest = line;
    const auto port = bracketed(rest);
    const auto guid = port ? quoted(rest) : std::nullopt;
    const auto peerPort = guid ? bracketed(rest) : std::nullopt;
    if (!peerPort) {
      refuse(number, "a cable that is not [port] \"GUID\"[port]", "give the output as ibnetdiscover wrote it");
    }
    const int peer = nodeOf(*guid, number);
    if (const auto text = quoted(rest)) {
      name(peer, *text);
    }
    const Bandwidth bandwidth = rateOf(rest, number);
    auto key = std::make_tuple(node, *port, peer, *peerPort);
    if (std::make_pair(peer, *peerPort) < std::make_pair(node, *port)) {
      key = std::make_tuple(peer, *peerPort, node, *port);
    }
    const auto [entry, isNew] = m_links.try_emplace(key, Link{node, *port, peer, *peerPort, bandwidth});
    if (!isNew && entry->second.bandwidth != bandwidth) {
      entry->second.bandwidth = std::min(entry->second.bandwidth, bandwidth);
      ++m_unlike;
    }
  }

  /// The last word that is a width and a speed.
  Bandwidth rateOf(std::string_view rest, int number) {
    std::string_view unknown;
    for (rest = trimmed(rest); !rest.empty();) {
      const std::size_t at = rest.find_last_of(" \t");
      const std::string_view word = at == std::string_view::npos ? rest : rest.substr(at + 1);
      rest = at == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(0, at));
      int width = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), width);
      const std::size_t digits = static_cast<std::size_t>(end - word.data());
      if (error != std::errc{} || digits >= word.size() || word[digits] != 'x') {
        continue;
      }
      if (const auto lane = laneRate(word.substr(digits + 1)); lane && width >= 1 && width <= 16) {
        return *lane * Rational(width);
      }
      unknown = word;
    }
    refuse(number,
           unknown.empty() ? "a cable without its width and speed"
                           : "width and speed " + inQuotes(unknown) + " are unknown",
           "speeds are SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR and XDR, as in 4xNDR");
  }

  /// "MF0;leaf1:MQM9700/U1" is leaf1.
  static std::string switchName(std::string_view text) {
    const std::size_t start = text.find(';');
    if (start != std::string_view::npos) {
      std::string_view rest = text.substr(start + 1);
      if (const std::size_t end = rest.rfind(':'); end != std::string_view::npos && end > 0) {
        rest = rest.substr(0, end);
      }
      text = rest.empty() ? text : rest;
    }
    return std::string(trimmed(text));
  }

  static bool isAggregation(std::string_view name) { return name.find("Aggregation Node") != std::string_view::npos; }

  /// The description that a card has until a host sets it names the maker, not the host.
  static bool isUnset(std::string_view name) {
    return name.empty() || name.find("Mellanox Technologies") != std::string_view::npos ||
           name.find("NVIDIA Corporation") != std::string_view::npos || name.starts_with("MT4") ||
           name.starts_with("localhost");
  }

  void collect() {
    ClusterNetwork& out = m_result.network;
    out.name = "InfiniBand";
    out.source = "ibnetdiscover";
    std::vector<int> switchOf(m_nodes.size(), -1);
    std::set<std::string> names;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
      if (m_nodes[i].kind == Kind::network) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return naturalLess(switchName(m_nodes[a].name), switchName(m_nodes[b].name));
    });
    for (const std::size_t i : order) {
      std::string name = switchName(m_nodes[i].name);
      if (name.empty()) {
        name = "switch" + std::to_string(out.switches.size());
      }
      std::string unique = name;
      for (int copy = 2; !names.insert(unique).second; ++copy) {
        unique = name + "#" + std::to_string(copy);
      }
      switchOf[i] = static_cast<int>(out.switches.size());
      out.switches.push_back({std::move(unique), false});
    }
    std::map<std::string, int, std::less<>> hosts;
    std::map<std::pair<int, int>, std::map<std::string, int>> trunks;  // by switches, then by bandwidth
    std::vector<std::string> unset;
    std::vector<int> adapterOf;  // of each port, its node
    std::size_t direct = 0;
    std::size_t routed = 0;
    for (const auto& [key, link] : m_links) {
      Link ends = link;
      if (switchOf[static_cast<std::size_t>(ends.a)] < 0) {
        std::swap(ends.a, ends.b);
        std::swap(ends.aPort, ends.bPort);
      }
      const int at = switchOf[static_cast<std::size_t>(ends.a)];
      const Node& far = m_nodes[static_cast<std::size_t>(ends.b)];
      if (at < 0) {
        ++direct;
      } else if (far.kind == Kind::network) {
        const int other = switchOf[static_cast<std::size_t>(ends.b)];
        if (other != at) {
          ++trunks[std::minmax(at, other)][toFraction(ends.bandwidth)];
        }
      } else if (far.kind == Kind::router) {
        ++routed;
      } else if (isAggregation(far.name)) {
        out.switches[static_cast<std::size_t>(at)].aggregates = true;
      } else if (isUnset(far.name)) {
        unset.push_back(out.switches[static_cast<std::size_t>(at)].name + " port " + std::to_string(ends.aPort));
      } else {
        const std::string_view name = trimmed(far.name);
        const std::size_t space = name.find(' ');
        const std::string host(name.substr(0, space));
        const std::string adapter(space == std::string_view::npos ? std::string_view("HCA-1")
                                                                  : trimmed(name.substr(space + 1)));
        const auto [entry, isNew] = hosts.try_emplace(host, static_cast<int>(out.hosts.size()));
        if (isNew) {
          out.hosts.push_back({host});
        }
        adapterOf.push_back(ends.b);
        out.ports.push_back({entry->second, adapter, ends.bPort, at, ends.bandwidth});
      }
    }
    tellAdaptersApart(adapterOf);
    for (const auto& [ends, byBandwidth] : trunks) {
      for (const auto& [bandwidth, count] : byBandwidth) {
        out.trunks.push_back({ends.first, ends.second, *Bandwidth::parse(bandwidth), count});
      }
    }
    if (!unset.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(unset.size()), "adapter") +
               " left out: the name says the maker, not the host (first: " + unset.front() + ")",
           "set the node descriptions of these hosts (rdma-ndd), and run ibnetdiscover again");
    }
    if (direct > 0) {
      tell(Severity::warning, counted(static_cast<std::int64_t>(direct), "cable") + " between adapters left out",
           "only cables to switches are read");
    }
    if (routed > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(routed), "cable") + " to routers left out");
    }
    if (m_unlike > 0) {
      tell(Severity::warning, counted(m_unlike, "cable") + " with different speeds at its ends; the lower one is used");
    }
    const auto cut = std::count_if(m_nodes.begin(), m_nodes.end(),
                                   [](const Node& node) { return node.kind == Kind::network && !node.hasRecord; });
    if (cut > 0) {
      tell(Severity::warning, counted(cut, "switch", "switches") + " without a record of its own: the text may be cut",
           "give the whole output of: ibnetdiscover");
    }
    if (out.switches.empty()) {
      refuse(0, "the text has no switch", "give the output for the whole fabric: ibnetdiscover");
    }
  }

  /// Adapters of a host that have one name, as where the description is the host's name alone, get numbers in the order
  /// of their GUIDs, which is mostly that of their slots.
  void tellAdaptersApart(const std::vector<int>& adapterOf) {
    std::vector<std::string> guids(m_nodes.size());
    for (const auto& [guid, node] : m_index) {
      guids[static_cast<std::size_t>(node)] = guid;
    }
    std::map<std::pair<int, std::string>, std::map<std::string, int>> numbers;
    auto& ports = m_result.network.ports;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      numbers[{ports[i].host, ports[i].adapter}][guids[static_cast<std::size_t>(adapterOf[i])]] = 0;
    }
    std::set<int> hosts;
    for (auto& [adapter, byGuid] : numbers) {
      int next = 0;
      for (auto& [guid, number] : byGuid) {
        number = ++next;
      }
      if (next > 1) {
        hosts.insert(adapter.first);
      }
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {  // each name is read once, before it changes
      const auto& byGuid = numbers.at({ports[i].host, ports[i].adapter});
      if (byGuid.size() > 1) {
        const bool isPlain = ports[i].adapter == "HCA-1";
        ports[i].adapter = (isPlain ? "HCA-" : ports[i].adapter + "#") +
                           std::to_string(byGuid.at(guids[static_cast<std::size_t>(adapterOf[i])]));
      }
    }
    if (!hosts.empty()) {
      tell(Severity::warning,
           counted(static_cast<std::int64_t>(hosts.size()), "host") + " with adapters of one name (first: " +
               m_result.network.hosts[static_cast<std::size_t>(*hosts.begin())].name +
               "); they are numbered in the order of their GUIDs",
           "set node descriptions that name the adapter (rdma-ndd), and run ibnetdiscover again");
    }
  }

  std::string m_text;
  std::string m_fileName;
  std::vector<Node> m_nodes;
  std::unordered_map<std::string, int> m_index;
  std::map<std::tuple<int, int, int, int>, Link> m_links;
  std::int64_t m_unlike = 0;
  ReadNetwork m_result;
};

}  // namespace

bool looksLikeIbnetdiscover(std::string_view text) {
  text = text.substr(0, std::size_t{1} << 20);
  return text.find("switchguid=0x") != std::string_view::npos || text.find("caguid=0x") != std::string_view::npos ||
         (text.find("\"S-") != std::string_view::npos && text.find("\"H-") != std::string_view::npos);
}

Result<ReadNetwork> readIbnetdiscover(std::string_view text, const std::string& fileName) {
  if (text.size() > kMaxNetworkBytes) {
    return Error{ErrorCode::limit, "the text is larger than 64 MiB", "give the output for one fabric",
                 Place{fileName, 0, 0, {}}};
  }
  return guarded([&] { return IbReader(text, fileName).run(); }, {.overflowFix = "use smaller numbers",
                                                                  .memory = "the text does not fit into memory",
                                                                  .memoryFix = "give the output for one fabric",
                                                                  .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
