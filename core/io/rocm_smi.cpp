// SPDX-License-Identifier: Apache-2.0
#include "io/rocm_smi.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/gpu_names.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/limits.hpp"
#include "io/pasted_text.hpp"
#include "io/text_place.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxRocmSmiBytes = std::size_t{4} << 20;
constexpr const char* kJsonFix = "give the whole output of: amd-smi topology --json, of a newer ROCm";
constexpr int kDirectWeight = 15;  // of one xGMI hop in the kernel's table of nodes

enum class Table { none, weight, hops, type, bandwidth, other };

struct Pair {
  std::optional<int> weight;
  std::optional<int> hops;
  std::string type;
  std::optional<Bandwidth> bandwidth;
};

/// "50000-50000" MB/s: the least and the most of a pair; the most counts. Nothing for "N/A" and zero.
std::optional<Bandwidth> pairBandwidth(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto most = numberIn<int>(dash == std::string_view::npos ? text : text.substr(dash + 1));
  return most && *most > 0 ? std::optional(Bandwidth(*most, 1000)) : std::nullopt;
}

bool isBdf(std::string_view word) {
  return word.size() >= 7 && word.find(':') != std::string_view::npos && word.find('.') != std::string_view::npos &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
         });
}

bool isRocmGpu(std::string_view word) {
  return (word.size() > 3 && word.starts_with("GPU") && numberIn<int>(word.substr(3))) || isBdf(word);
}

class RocmReader {
public:
  RocmReader(std::string_view text, const std::string& fileName, const NvidiaSmiOptions& options)
      : m_text(text), m_fileName(fileName), m_options(options) {}

  Result<ImportResult> run() {
    const std::size_t start = m_text.find_first_not_of(" \t\r\n");
    if (start != std::string_view::npos && (m_text[start] == '[' || m_text[start] == '{')) {
      readJson();
    } else {
      readTables();
    }
    if (m_names.size() < 2) {
      refuse(0, "the text has no table of at least two GPUs", "give the output of: rocm-smi --showtopo");
    }
    build();
    return assembleServer(m_box, m_options.box, std::move(m_findings), std::move(m_taken), m_fileName);
  }

private:
  [[noreturn]] void refuse(int line, std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, line > 0 ? 1 : 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix)});
  }

  int gpuOf(std::string_view name, int line) {
    const auto [entry, isNew] = m_index.try_emplace(std::string(name), static_cast<int>(m_names.size()));
    if (isNew) {
      if (m_names.size() >= kMaxServerGpus) {
        refuse(line, "more than " + std::to_string(kMaxServerGpus) + " GPUs", "give the output of one server",
               ErrorCode::limit);
      }
      m_names.emplace_back(name);
    }
    return entry->second;
  }

  /// The table that a heading begins, or nothing for a line that is no heading.
  static std::optional<Table> heading(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
    if (has("Weight between two GPUs") || has("WEIGHT TABLE")) {
      return Table::weight;
    }
    if (has("Hops between two GPUs") || has("HOPS TABLE")) {
      return Table::hops;
    }
    if (has("Link Type between two GPUs") || has("LINK TYPE TABLE")) {
      return Table::type;
    }
    if (has("BW TABLE") || has("Bandwidth between two GPUs")) {
      return Table::bandwidth;
    }
    if (has("====") || has(" TABLE:") || has("Access between two GPUs")) {
      return Table::other;
    }
    return std::nullopt;
  }

  void readTables() {
    const std::string clean = terminalText(m_text, "GPU");
    Table table = Table::none;
    std::vector<int> columns;
    int number = 0;
    for (std::string_view rest = clean; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++number;
      if (const auto begun = heading(line)) {
        table = *begun;
        columns.clear();
        continue;
      }
      readNuma(line);
      const std::vector<std::string_view> words = wordsOf(line);
      if (words.empty() || table == Table::none || table == Table::other || !isRocmGpu(words.front())) {
        continue;
      }
      if (std::all_of(words.begin(), words.end(), isRocmGpu)) {
        columns.clear();
        for (const std::string_view word : words) {
          columns.push_back(gpuOf(word, number));
        }
      } else {
        readTableRow(table, words, columns, number);
      }
    }
  }

  void readTableRow(Table table, const std::vector<std::string_view>& words, const std::vector<int>& columns,
                    int number) {
    const int row = gpuOf(words.front(), number);
    if (words.size() - 1 != columns.size()) {
      refuse(number,
             "row " + inQuotes(words.front()) + " has " + std::to_string(words.size() - 1) + " cells for " +
                 std::to_string(columns.size()) + " columns",
             "give the whole output of: rocm-smi --showtopo");
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == row) {
        continue;
      }
      const std::string_view cell = words[i + 1];
      Pair& pair = m_pairs[std::minmax(row, columns[i])];
      if (table == Table::type) {
        if (cell != "XGMI" && cell != "PCIE" && cell != "N/A" && cell != "0" && cell != "UNKNOWN") {
          refuse(number, "link type " + inQuotes(cell) + " is unknown", "types are XGMI and PCIE");
        }
        pair.type = std::string(cell);
      } else if (table == Table::bandwidth) {
        if (const auto bandwidth = pairBandwidth(cell)) {
          pair.bandwidth = pair.bandwidth ? std::min(*pair.bandwidth, *bandwidth) : *bandwidth;
        }
      } else if (const auto value = numberIn<int>(cell)) {
        (table == Table::weight ? pair.weight : pair.hops) = value;
      } else if (cell != "N/A") {
        refuse(number, "cell " + inQuotes(cell) + " is not a number", "give the output as rocm-smi wrote it");
      }
    }
  }

  /// "GPU[0] : (Topology) Numa Node: 0".
  void readNuma(std::string_view line) {
    const std::size_t open = line.find("GPU[");
    const std::size_t close = open == std::string_view::npos ? open : line.find(']', open);
    const std::size_t colon = line.find("Numa Node:");
    if (close == std::string_view::npos || colon == std::string_view::npos) {
      return;
    }
    const auto gpu = numberIn<int>(line.substr(open + 4, close - open - 4));
    const auto words = wordsOf(line.substr(colon + 10));
    const auto numa = words.empty() ? std::nullopt : numberIn<int>(words.front());
    if (gpu && numa && *numa >= 0) {
      m_numa["GPU" + std::to_string(*gpu)] = *numa;
    }
  }

  static std::string textOf(const JsonValue* value) {
    return value != nullptr && (value->kind == JsonValue::Kind::string || value->kind == JsonValue::Kind::number)
               ? value->text
               : std::string();
  }

  /// amd-smi: [{"gpu": 0, "bdf": "..", "links": [{"gpu": 1, "bdf": "..", "weight": 15, "link_type": "XGMI", ..}]}].
  void readJson() {
    const JsonValue root = orThrow(parseExactJson(m_text, m_fileName));
    const TextPlaces places(m_text, m_fileName);
    const JsonValue* list = &root;
    if (root.kind == JsonValue::Kind::object) {
      for (const auto& [key, value] : root.members) {
        list = value.kind == JsonValue::Kind::array ? &value : list;
      }
    }
    if (isOlderJson(*list)) {
      readOlderJson(*list, places);
      return;
    }
    for (const JsonValue& gpu : list->items) {
      const std::string bdf = textOf(gpu.find("bdf"));
      const JsonValue* links = gpu.find("links");
      if (bdf.empty() || links == nullptr || links->kind != JsonValue::Kind::array) {
        refuse(places.at(gpu.offset).line, "an entry without \"bdf\" and \"links\"", kJsonFix);
      }
      const int row = gpuOf(bdf, places.at(gpu.offset).line);
      if (const auto numa = numberIn<int>(textOf(gpu.find("numa_node")))) {
        m_numa[bdf] = *numa;
      }
      for (const JsonValue& link : links->items) {
        const std::string target = textOf(link.find("bdf"));
        if (target.empty() || target == bdf) {
          continue;
        }
        Pair& pair = m_pairs[std::minmax(row, gpuOf(target, places.at(link.offset).line))];
        pair.type = textOf(link.find("link_type"));
        pair.weight = numberIn<int>(textOf(link.find("weight")));
        pair.hops = numberIn<int>(textOf(link.find("num_hops")));
        if (const auto bandwidth = pairBandwidth(textOf(link.find("bandwidth")))) {
          pair.bandwidth = bandwidth;
        }
      }
    }
  }

  static bool isOlderJson(const JsonValue& list) {
    const JsonValue* types = list.items.empty() ? nullptr : list.items.front().find("link_type");
    return types != nullptr && types->kind == JsonValue::Kind::object;
  }

  /// Older releases of amd-smi: instead of "links", one object for each table, with a member for each other GPU:
  /// {"gpu": 0, "bdf": "..", "weight": {"gpu_0": 0, "gpu_1": 15}, "hops": {..}, "link_type": {..}}.
  void readOlderJson(const JsonValue& list, const TextPlaces& places) {
    std::map<std::string, int> rowOf;
    for (const JsonValue& gpu : list.items) {
      const std::string number = textOf(gpu.find("gpu"));
      const std::string bdf = textOf(gpu.find("bdf"));
      if (number.empty() || bdf.empty()) {
        refuse(places.at(gpu.offset).line, "an entry without \"gpu\" and \"bdf\"", kJsonFix);
      }
      rowOf["gpu_" + number] = gpuOf(bdf, places.at(gpu.offset).line);
    }
    for (const JsonValue& gpu : list.items) {
      for (const auto& [target, row] : rowOf) {
        readOlderPair(gpu, rowOf["gpu_" + textOf(gpu.find("gpu"))], target, row);
      }
    }
  }

  void readOlderPair(const JsonValue& gpu, int from, const std::string& target, int to) {
    const auto cell = [&](const char* table) {
      const JsonValue* const cells = gpu.find(table);
      return textOf(cells == nullptr ? nullptr : cells->find(target));
    };
    if (from == to || cell("link_type").empty()) {
      return;
    }
    Pair& pair = m_pairs[std::minmax(from, to)];
    pair.type = cell("link_type");
    pair.weight = numberIn<int>(cell("weight"));
    pair.hops = numberIn<int>(cell("hops"));
    if (const auto bandwidth = pairBandwidth(cell("numa_bandwidth"))) {
      pair.bandwidth = bandwidth;
    }
  }

  [[nodiscard]] const Pair* pairOf(int a, int b) const {
    const auto found = m_pairs.find(std::minmax(a, b));
    return found == m_pairs.end() ? nullptr : &found->second;
  }

  /// A link of its own, not a way through other GPUs.
  static bool isDirect(const Pair& pair) {
    if (pair.type != "XGMI") {
      return false;
    }
    return pair.weight ? *pair.weight <= kDirectWeight : pair.hops.value_or(1) <= 1;
  }

  void build() {
    m_box.name = "server";
    const int n = static_cast<int>(m_names.size());
    for (int gpu = 0; gpu < n; ++gpu) {
      m_box.nodes.push_back({BoxRole::gpu, "gpu" + std::to_string(gpu), {}, -1, {}, {}});
    }
    addXgmi();
    addPcie();
  }

  void addXgmi() {
    std::size_t direct = 0;
    std::size_t indirect = 0;
    bool isWeighed = true;
    for (const auto& [ends, pair] : m_pairs) {
      isWeighed = isWeighed && (pair.type != "XGMI" || pair.weight);
      direct += isDirect(pair) ? 1 : 0;
      indirect += pair.type == "XGMI" && !isDirect(pair) ? 1 : 0;
    }
    if (direct == 0) {
      return;
    }
    if (!isWeighed) {
      tell(Severity::warning,
           "without the table of weights every XGMI pair counts as a direct link; some may lead through other GPUs",
           "give the whole output of: rocm-smi --showtopo");
    }
    if (indirect > 0) {
      tell(Severity::note, counted(static_cast<std::int64_t>(indirect), "pair") +
                               " of GPUs reach each other through other GPUs over xGMI");
    }
    std::optional<Bandwidth> guess;
    for (const auto& [ends, pair] : m_pairs) {
      if (!isDirect(pair)) {
        continue;
      }
      Bandwidth bandwidth;
      if (m_options.linkBandwidth) {
        bandwidth = *m_options.linkBandwidth;
      } else if (pair.bandwidth) {
        bandwidth = *pair.bandwidth;
        m_taken.linkSource = NumberSource::file;
        m_taken.linkDetail = "amd-smi's bandwidths";
      } else {
        guess = guess ? guess : guessedRate(direct);
        bandwidth = *guess;
      }
      m_taken.nvlinkBandwidth = bandwidth;
      m_box.gpuLinks.push_back({ends.first, ends.second, bandwidth, 1});
    }
  }

  Bandwidth guessedRate(std::size_t direct) {
    if (const auto named = namedLinkRate(m_text)) {
      const Bandwidth rate(named->gigabytes);
      m_taken.linkSource = NumberSource::table;
      m_taken.linkDetail = "AMD's data sheet of " + named->gpu + ", which is named";
      tell(Severity::note,
           "an xGMI link of " + named->gpu + " has " + toExactText(rate) + " GB/s per direction by its data sheet",
           "give the link bandwidth if this is wrong");
      return rate;
    }
    const std::size_t n = m_names.size();
    const bool isMi300 = n == 8 && direct == n * (n - 1) / 2;
    const Bandwidth rate(isMi300 ? 64 : 50);
    m_taken.linkSource = NumberSource::guess;
    m_taken.linkDetail = isMi300 ? "MI300X, by eight GPUs all joined" : "one link of MI200, by the GPUs";
    tell(Severity::warning,
         std::string("rocm-smi gives no speeds and no product: ") +
             (isMi300 ? "eight GPUs with a link between every two look like MI300X, 64 GB/s"
                      : "one xGMI link of MI200, 50 GB/s,") +
             " per direction and pair is assumed",
         "give the link bandwidth (several links between two GPUs add up), or the output of: amd-smi topology --json");
    return rate;
  }

  [[nodiscard]] std::optional<int> numaOf(int gpu) const {
    const auto found = m_numa.find(m_names[static_cast<std::size_t>(gpu)]);
    return found == m_numa.end() ? std::nullopt : std::optional(found->second);
  }

  /// NUMA nodes by their numbers, else by hops and weights over PCIe: 2 hops (weight 40) stay in one.
  void addPcie() {
    const int n = static_cast<int>(m_names.size());
    std::vector<int> cluster(static_cast<std::size_t>(n));
    std::map<int, int> byNuma;
    for (int gpu = 0; gpu < n; ++gpu) {
      const auto numa = numaOf(gpu);
      cluster[static_cast<std::size_t>(gpu)] = numa ? byNuma.try_emplace(*numa, gpu).first->second : gpu;
    }
    bool isKnown = !byNuma.empty();
    for (const auto& [ends, pair] : m_pairs) {
      if (pair.type != "PCIE") {
        continue;
      }
      isKnown = true;
      const bool isNear = pair.hops ? *pair.hops <= 2 : pair.weight.value_or(0) <= 40;
      const auto low =
          std::min(cluster[static_cast<std::size_t>(ends.first)], cluster[static_cast<std::size_t>(ends.second)]);
      const auto high =
          std::max(cluster[static_cast<std::size_t>(ends.first)], cluster[static_cast<std::size_t>(ends.second)]);
      if (isNear && !(numaOf(ends.first) && numaOf(ends.second))) {
        std::replace(cluster.begin(), cluster.end(), high, low);
      }
    }
    if (!isKnown) {
      return;
    }
    const Bandwidth pcie = stated(m_options.pcieBandwidth, Bandwidth(32), "a PCIe link");
    m_taken.pcieBandwidth = pcie;
    std::map<int, int> nodeOf;
    for (int gpu = 0; gpu < n; ++gpu) {
      const auto [entry, isNew] =
          nodeOf.try_emplace(cluster[static_cast<std::size_t>(gpu)], static_cast<int>(m_box.nodes.size()));
      if (isNew) {
        m_box.nodes.push_back({BoxRole::cpu, "numa" + std::to_string(nodeOf.size() - 1), {}, -1, {}, {}});
      }
      m_box.nodes[static_cast<std::size_t>(gpu)].parent = entry->second;
      m_box.nodes[static_cast<std::size_t>(gpu)].uplink = pcie;
    }
    if (nodeOf.size() > 1) {
      const Bandwidth socket = stated(m_options.socketBandwidth, Bandwidth(16), "the link between CPU sockets");
      m_taken.socketBandwidth = socket;
      for (auto a = nodeOf.begin(); a != nodeOf.end(); ++a) {
        for (auto b = std::next(a); b != nodeOf.end(); ++b) {
          m_box.hostLinks.push_back({a->second, b->second, socket, 1});
        }
      }
    }
  }

  Bandwidth stated(const std::optional<Bandwidth>& option, const Bandwidth& guess, const std::string& what) {
    if (!option) {
      tell(Severity::note,
           "rocm-smi gives no speeds: " + what + " is assumed to be " + toExactText(guess) + " GB/s per direction",
           "give it if this is wrong");
    }
    return option.value_or(guess);
  }

  std::string_view m_text;
  const std::string& m_fileName;
  const NvidiaSmiOptions& m_options;
  std::vector<std::string> m_names;
  std::map<std::string, int> m_index;
  std::map<std::pair<int, int>, Pair> m_pairs;
  std::map<std::string, int> m_numa;
  Box m_box;
  ImportedServer m_taken;
  std::vector<Finding> m_findings;
};

}  // namespace

bool looksLikeRocmSmi(std::string_view text) {
  text = text.substr(0, std::size_t{1} << 20);
  for (const std::string_view mark :
       {"Weight between two GPUs", "Hops between two GPUs", "Link Type between two GPUs",
        "LINK TYPE TABLE:", "WEIGHT TABLE:", "HOPS TABLE:", "ROCm System Management Interface"}) {
    if (text.find(mark) != std::string_view::npos) {
      return true;
    }
  }
  return text.find("\"bdf\"") != std::string_view::npos && text.find("\"link_type\"") != std::string_view::npos;
}

Result<ImportResult> readRocmSmi(std::string_view text, const std::string& fileName, const NvidiaSmiOptions& options) {
  if (text.size() > kMaxRocmSmiBytes) {
    return Error{ErrorCode::limit, "the text is larger than 4 MiB", "give the output of: rocm-smi --showtopo",
                 Place{fileName, 0, 0, {}}};
  }
  for (const auto* given : {&options.linkBandwidth, &options.pcieBandwidth, &options.socketBandwidth}) {
    if (*given && !(*given)->isPositive()) {
      return Error{ErrorCode::badUsage, "a bandwidth of " + toExactText(**given) + " GB/s cannot carry anything",
                   "give one above 0"};
    }
  }
  return guarded([&] { return RocmReader(text, fileName, options).run(); },
                 {.overflowFix = "use smaller numbers",
                  .memory = "the text does not fit into memory",
                  .memoryFix = "give the output of one server",
                  .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
