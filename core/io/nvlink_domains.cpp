// SPDX-License-Identifier: Apache-2.0
#include "io/nvlink_domains.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "io/pasted_text.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxDomainBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDomainGpus = 200000;
constexpr std::size_t kMaxDomainText = 128;

/// The name of a field without case, blanks and marks: "Cluster UUID", "ClusterUUID" and "fabric.clusterUuid" are one.
std::string fieldName(std::string_view text) {
  std::string name;
  for (const char c : lowered(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      name += c;
    }
  }
  return name.starts_with("fabric") && name.size() > 6 ? name.substr(6) : name;
}

bool isAbsent(std::string_view value) {
  const std::string name = fieldName(value);
  return name.empty() || name == "na" || name == "notsupported" || name == "none";
}

/// Sets the field that `name` is; false: it is another.
bool setField(GpuDomain& gpu, const std::string& name, std::string_view value) {
  std::string* const field = name == "state"                                    ? &gpu.state
                             : name == "status"                                 ? &gpu.status
                             : name == "cliqueid" || name == "clique"           ? &gpu.clique
                             : name == "clusteruuid" || name == "clusterid"     ? &gpu.cluster
                             : name == "bandwidth" || name == "healthbandwidth" ? &gpu.health
                                                                                : nullptr;
  if (field == nullptr) {
    return false;
  }
  value = trimmed(value).substr(0, kMaxDomainText);
  *field = isAbsent(value) ? std::string() : std::string(value);
  if (field == &gpu.cluster) {
    gpu.cluster = lowered(gpu.cluster);
    if (gpu.cluster.find_first_not_of("0-") == std::string::npos) {
      gpu.cluster.clear();
    }
  }
  return true;
}

/// The number of "GPU3".
std::optional<int> gpuOfName(std::string_view name) {
  int number = 0;
  if (!name.starts_with("GPU")) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// A cell of topo -p2p.
bool isPeerCell(std::string_view word) {
  constexpr std::string_view kCells[] = {"X", "OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};
  return std::find(std::begin(kCells), std::end(kCells), word) != std::end(kCells);
}

/// A row of topo -p2p: a GPU, and nothing but cells of its table, one of which is of no other.
bool isPeerRow(const std::vector<std::string_view>& words) {
  return words.size() > 1 && gpuOfName(words[0]) && std::all_of(words.begin() + 1, words.end(), isPeerCell) &&
         std::any_of(words.begin() + 1, words.end(), [](std::string_view word) { return word != "X"; });
}

/// Heads of topo -p2p: GPUs alone.
bool areHeads(const std::vector<std::string_view>& words) {
  return !words.empty() &&
         std::all_of(words.begin(), words.end(), [](std::string_view word) { return gpuOfName(word).has_value(); });
}

/// "node7" of "node7: rest"; the rest is left. A field of nvidia-smi has blanks before its colon.
std::string takeHost(std::string_view& line) {
  const std::size_t colon = line.find(':');
  const std::size_t blank = line.find_first_of(" \t,<");
  if (colon == std::string_view::npos || colon == 0 || colon > kMaxDomainText || blank < colon ||
      colon + 1 >= line.size() || (line[colon + 1] != ' ' && line[colon + 1] != '\t')) {
    return {};
  }
  std::string host(line.substr(0, colon));
  line.remove_prefix(colon + 1);
  return host;
}

class DomainReader {
public:
  explicit DomainReader(std::string fileName) : m_fileName(std::move(fileName)) {}

  Result<NvlinkDomains> read(std::string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::string host = takeHost(line);
      const auto [entry, isNew] = m_index.try_emplace(host, m_hosts.size());
      if (isNew) {
        m_hosts.emplace_back().domains.host = host;
      }
      take(m_hosts[entry->second], line);
      if (m_gpus > kMaxDomainGpus) {
        return Error{ErrorCode::limit, "more than " + std::to_string(kMaxDomainGpus) + " GPUs", "give fewer hosts",
                     Place{m_fileName, number, 1, {}}};
      }
    }
    NvlinkDomains out{m_fileName, {}};
    for (Host& host : m_hosts) {
      if (!host.domains.gpus.empty() || host.domains.hasPeers) {
        out.hosts.push_back(std::move(host.domains));
      }
    }
    if (out.hosts.empty()) {
      return Error{ErrorCode::badInput, "no GPU with its NVLink domain is in the text",
                   "give the output of: nvidia-smi -q, or nvidia-smi "
                   "--query-gpu=index,fabric.state,fabric.status,fabric.clusterUuid,fabric.cliqueId --format=csv",
                   Place{m_fileName, 0, 0, {}}};
    }
    return out;
  }

private:
  struct Host {
    HostDomains domains;
    int next = 0;                           // of the GPUs of -q
    bool isInFabric = false;                // below the heading
    std::size_t indent = 0;                 // of the heading
    std::vector<std::string> columns = {};  // of the table
    std::vector<int> heads = {};            // GPUs of the columns of -p2p
  };

  void take(Host& host, std::string_view line) {
    const std::string_view plain = trimmed(line);
    if (plain.empty()) {
      return;
    }
    if (takeTable(host, plain) || takeElement(host, plain) || takePeers(host, plain)) {
      return;
    }
    // "GPU 00000000:0F:00.0" begins a GPU of -q.
    const std::size_t indent = line.find_first_not_of(" \t");
    if (plain.starts_with("GPU ") && plain.find(" : ") == std::string_view::npos &&
        plain.find(':') != std::string_view::npos) {
      ++host.next;
      host.isInFabric = false;
      return;
    }
    if (plain == "Fabric") {
      host.isInFabric = host.next > 0;
      host.indent = indent;
      return;
    }
    if (host.isInFabric && indent <= host.indent) {
      host.isInFabric = false;
    }
    const std::size_t colon = plain.find(':');
    if (host.isInFabric && colon != std::string_view::npos) {
      setField(gpuOf(host, host.next - 1), fieldName(plain.substr(0, colon)), plain.substr(colon + 1));
    }
  }

  GpuDomain& gpuOf(Host& host, int index) {
    const auto [entry, isNew] = host.domains.gpus.try_emplace(index);
    m_gpus += isNew ? 1 : 0;
    return entry->second;
  }

  /// The table of --query-gpu: a line of heads with the clique among them, then one line for each GPU.
  bool takeTable(Host& host, std::string_view line) {
    if (line.find(',') == std::string_view::npos) {
      return false;
    }
    std::vector<std::string_view> cells;
    for (std::string_view rest = line;;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      cells.push_back(trimmed(rest.substr(0, comma)));
      if (comma == rest.size()) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
    std::vector<std::string> names;
    for (const std::string_view cell : cells) {
      names.push_back(fieldName(cell));
    }
    const bool isHead = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name == "cliqueid" || name == "clusteruuid" || name == "state";
    });
    if (isHead) {
      host.columns = std::move(names);
      host.next = 0;
      return true;
    }
    if (host.columns.empty() || cells.size() != host.columns.size()) {
      return false;
    }
    int index = host.next++;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (host.columns[i] == "index") {
        std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(), index);
      }
    }
    GpuDomain& gpu = gpuOf(host, index);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      setField(gpu, host.columns[i], cells[i]);
    }
    return true;
  }

  /// The heads or a row of topo -p2p.
  static bool takePeers(Host& host, std::string_view line) {
    const std::vector<std::string_view> words = wordsOf(line);
    if (words.empty() || !gpuOfName(words[0])) {
      return false;
    }
    if (areHeads(words)) {
      host.heads.clear();
      for (const std::string_view word : words) {
        host.heads.push_back(*gpuOfName(word));
      }
      return true;
    }
    if (!isPeerRow(words)) {
      return false;
    }
    host.domains.hasPeers = true;
    const int row = *gpuOfName(words[0]);
    for (std::size_t i = 1; i < words.size() && i - 1 < host.heads.size(); ++i) {
      const int column = host.heads[i - 1];
      if (words[i] != "OK" && words[i] != "X" && words[i] != "U" && column != row) {
        host.domains.apart.emplace(std::minmax(row, column), words[i]);
      }
    }
    return true;
  }

  /// A line of -q -x, which has one element on each.
  bool takeElement(Host& host, std::string_view line) {
    if (!line.starts_with("<")) {
      return false;
    }
    if (line.starts_with("<gpu ")) {
      ++host.next;
    } else if (line.starts_with("<fabric>")) {
      host.isInFabric = host.next > 0;
    } else if (line.starts_with("</fabric>") || line.starts_with("</gpu>")) {
      host.isInFabric = false;
    } else if (host.isInFabric) {
      const std::size_t open = line.find('>');
      const std::size_t close = line.rfind("</");
      if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
        setField(gpuOf(host, host.next - 1), fieldName(line.substr(1, open - 1)),
                 line.substr(open + 1, close - open - 1));
      }
    }
    return true;
  }

  std::string m_fileName;
  std::vector<Host> m_hosts;
  std::map<std::string, std::size_t> m_index;
  std::size_t m_gpus = 0;
};

}  // namespace

bool GpuDomain::isOutside() const {
  const std::string name = fieldName(state);
  const std::string why = fieldName(status);
  return (!name.empty() && name != "completed") || (name == "completed" && !why.empty() && why != "success");
}

bool looksLikeNvlinkDomains(std::string_view text) {
  std::string start = lowered(text.substr(0, std::size_t{1} << 20));
  std::erase_if(start, [](char c) { return c == ' ' || c == '_'; });
  return start.find("cliqueid") != std::string::npos || start.find("clusteruuid") != std::string::npos ||
         start.find("fabric.state") != std::string::npos;
}

bool looksLikePeerAccess(std::string_view text) {
  const std::string plain = terminalLines(text.substr(0, std::size_t{1} << 20), "GPU");
  const std::vector<std::string_view> lines = linesIn(plain);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) { return isPeerRow(wordsOf(line)); });
}

std::string withoutPeerAccess(std::string_view lines) {
  std::vector<std::string_view> kept = linesIn(lines);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (isPeerRow(wordsOf(kept[i]))) {
      kept[i] = {};
      if (i > 0 && areHeads(wordsOf(kept[i - 1]))) {
        kept[i - 1] = {};
      }
    }
  }
  std::string text;
  for (const std::string_view line : kept) {
    text.append(line).append("\n");
  }
  return text;
}

Result<NvlinkDomains> readNvlinkDomains(std::string_view text, const std::string& fileName) {
  if (text.size() > kMaxDomainBytes) {
    return Error{ErrorCode::limit, "the text is larger than 64 MiB", "give fewer hosts", Place{fileName, 0, 0, {}}};
  }
  // Elements of XML keep their marks; of the rest, launchers and pages have changed less than of a matrix.
  return DomainReader(fileName).read(terminalLines(text));
}

}  // namespace coppice::io
