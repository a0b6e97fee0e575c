// SPDX-License-Identifier: Apache-2.0
#include "io/fabric_formats.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "io/adjacency.hpp"
#include "io/execution_plan.hpp"
#include "io/fabric_json.hpp"
#include "io/foreign_formats.hpp"
#include "io/hwloc_xml.hpp"
#include "io/infragraph.hpp"
#include "io/nccl_topo_xml.hpp"
#include "io/nvlink_domains.hpp"
#include "io/nvlink_status.hpp"
#include "io/pasted_text.hpp"
#include "io/rocm_smi.hpp"
#include "io/simulator_network.hpp"
#include "io/tree_network.hpp"
#include "io/tree_xml.hpp"

namespace coppice::io {
namespace {

struct NamedFormat {
  FabricFormat format;
  std::string_view name;
};

// First, in the order of FabricFormat, the names that are printed; then others that are read.
constexpr NamedFormat kNames[] = {{FabricFormat::json, "json"},
                                  {FabricFormat::dot, "dot"},
                                  {FabricFormat::adjacency, "adjacency"},
                                  {FabricFormat::ncclXml, "nccl-xml"},
                                  {FabricFormat::nvidiaSmi, "nvidia-smi"},
                                  {FabricFormat::treeXml, "trees"},
                                  {FabricFormat::taccl, "taccl"},
                                  {FabricFormat::rocmSmi, "rocm-smi"},
                                  {FabricFormat::ibnetdiscover, "ibnetdiscover"},
                                  {FabricFormat::treeNetwork, "slurm"},
                                  {FabricFormat::simai, "simai"},
                                  {FabricFormat::astraSim, "astra-sim"},
                                  {FabricFormat::tacos, "tacos"},
                                  {FabricFormat::hwloc, "hwloc"},
                                  {FabricFormat::infraGraph, "infragraph"},
                                  {FabricFormat::nvlinkDomains, "nvlink-domains"},
                                  {FabricFormat::json, "fabric"},
                                  {FabricFormat::dot, "gv"},
                                  {FabricFormat::ncclXml, "nccl"},
                                  {FabricFormat::nvidiaSmi, "smi"},
                                  {FabricFormat::treeXml, "tree-xml"},
                                  {FabricFormat::rocmSmi, "amd-smi"},
                                  {FabricFormat::treeNetwork, "topograph"},
                                  {FabricFormat::simai, "ns3"},
                                  {FabricFormat::hwloc, "lstopo"}};
constexpr auto kLastFormat = FabricFormat::nvlinkDomains;

constexpr bool areNamesInOrder() {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(kLastFormat); ++i) {
    if (kNames[i].format != static_cast<FabricFormat>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(areNamesInOrder());

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Tells the JSON forms apart by their keys, without reading values.
class JsonGlance {
public:
  explicit JsonGlance(std::string_view text) : m_text(text) {}

  /// The native form has objects with id and src; everything else that ForestColl's form may have settles it.
  bool isAdjacency() {
    std::string_view section;
    while (m_at < m_text.size()) {
      const char c = m_text[m_at++];
      if (c == '"') {
        const std::string_view word = string();
        if (!isKey()) {
          continue;
        }
        if (m_depth == 1) {
          section = word;
          if (word == "compute_nodes" || word == "edges" || word == "matrix" || word == "directed" ||
              word == "multigraph") {
            return true;
          }
          if (word == "links" && isListOfOthers('{')) {
            return true;
          }
        } else if (m_depth == 3 && section == "links") {
          if (word == "src" || word == "bandwidth") {
            return false;
          }
          if (word == "source" || word == "capacity") {
            return true;
          }
        }
      } else if (c == '{' || c == '[') {
        ++m_depth;
      } else if (c == '}' || c == ']') {
        --m_depth;
      }
    }
    return false;
  }

private:
  std::string_view string() {
    const std::size_t start = m_at;
    while (m_at < m_text.size() && m_text[m_at] != '"') {
      m_at += m_text[m_at] == '\\' ? 2 : 1;
    }
    const std::size_t end = std::min(m_at, m_text.size());
    m_at = end + 1;
    return m_text.substr(start, end - start);
  }

  std::size_t afterBlanks(std::size_t at) const {
    while (at < m_text.size() && isBlank(m_text[at])) {
      ++at;
    }
    return at;
  }

  bool isKey() const {
    const std::size_t at = afterBlanks(m_at);
    return at < m_text.size() && m_text[at] == ':';
  }

  /// After a key: its value is a list whose first item does not begin with `usual`.
  bool isListOfOthers(char usual) const {
    std::size_t at = afterBlanks(afterBlanks(m_at) + 1);
    if (at >= m_text.size() || m_text[at] != '[') {
      return false;
    }
    at = afterBlanks(at + 1);
    return at < m_text.size() && m_text[at] != usual && m_text[at] != ']';
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  int m_depth = 0;
};

/// Name of the outermost element, past declarations and comments; empty if there is none nearby.
std::string_view rootElement(std::string_view text) {
  while (!text.empty()) {
    const std::size_t open = text.find('<');
    if (open == std::string_view::npos || open + 1 >= text.size()) {
      return {};
    }
    text.remove_prefix(open);
    const bool isComment = text.starts_with("<!--");
    if (text[1] != '!' && text[1] != '?') {
      const std::size_t end = text.find_first_of(" \t\r\n/>", 1);
      return end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
    }
    const std::size_t close = text.find(isComment ? "-->" : ">");
    if (close == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(close);
  }
  return {};
}

/// A line on which a GPU stands first, as heads or as a row.
bool looksLikeMatrixOfGpus(std::string_view text) {
  const bool hasDiagonal = text.find("\tX\t") != std::string_view::npos || text.find(" X ") != std::string_view::npos;
  return (text.find("GPU0") != std::string_view::npos &&
          (hasDiagonal || text.find("GPU1") != std::string_view::npos)) ||
         (text.find("GPU1") != std::string_view::npos && hasDiagonal);
}

/// Lists of links of NVIDIA Air and of MSCCL's tools, which have no bandwidths.
bool hasOtherLinks(std::string_view text) {
  return text.find("\"oob\"") != std::string_view::npos || text.find("\"msccl_type\"") != std::string_view::npos;
}

/// A topology of TACCL, or a sketch: no other form has their keys. A fabric may hold both texts as strings, in which
/// the quotes are escaped.
bool isTaccl(std::string_view text) {
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  return (has("\"gpus_per_node\"") && has("\"alpha\"")) || has("\"intranode_sketch\"");
}

/// The first bracket begins a list of JSON, not a tag of a launcher or a cable of ibnetdiscover.
bool isJsonList(std::string_view rest) {
  std::size_t at = 1;
  while (at < rest.size() && isBlank(rest[at])) {
    ++at;
  }
  if (at >= rest.size() || std::string_view("[]{\"-").find(rest[at]) != std::string_view::npos) {
    return true;
  }
  // A colour that lost its escape character begins "[4m".
  const std::size_t end = rest.find_first_not_of("0123456789;", at);
  return rest[at] >= '0' && rest[at] <= '9' && rest.substr(0, 64).find("]<std") == std::string_view::npos &&
         (end == std::string_view::npos || rest[end] != 'm');
}

/// What a shell or a page made of a text, undone: UTF-16, a byte order mark, no-break spaces. nullopt: it has none.
std::optional<std::string> plainText(std::string_view text) {
  if (auto decoded = utf8OfUtf16(text)) {
    return decoded;
  }
  const bool isChanged = text.starts_with("\xEF\xBB\xBF") || text.find("\xC2\xA0") != std::string_view::npos;
  return isChanged ? std::optional(terminalLines(text)) : std::nullopt;
}

std::optional<FabricFormat> byContent(std::string_view text) {
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (at < text.size() && isBlank(text[at])) {
    ++at;
  }
  const std::string_view rest = text.substr(at);
  const std::string_view glance = rest.substr(0, std::size_t{1} << 20);
  if (rest.empty()) {
    return std::nullopt;
  }
  if (rest.front() == '<') {
    const std::string_view root = rootElement(rest);
    if (root == "nvidia_smi_log" && looksLikeNvlinkDomains(rest)) {
      return FabricFormat::nvlinkDomains;
    }
    return root == "Algo"                     ? std::optional(FabricFormat::treeXml)
           : root == "topology"               ? std::optional(FabricFormat::hwloc)
           : root == "system" || root.empty() ? std::optional(FabricFormat::ncclXml)
                                              : std::nullopt;
  }
  if (rest.front() == '[' && isJsonList(rest)) {
    const std::size_t next = rest.find_first_not_of(" \t\r\n", 1);
    const bool isOfObjects = next != std::string_view::npos && rest[next] == '{';
    return looksLikeRocmSmi(glance) ? std::optional(FabricFormat::rocmSmi)
           : isOfObjects            ? std::nullopt
                                    : std::optional(FabricFormat::adjacency);
  }
  if (rest.front() == '{') {
    const bool isNative =
        glance.find("\"src\"") != std::string_view::npos && glance.find("\"bandwidth\"") != std::string_view::npos;
    return isTaccl(rest)                              ? std::optional(FabricFormat::taccl)
           : looksLikeInfraGraph(glance) && !isNative ? std::optional(FabricFormat::infraGraph)
           : looksLikeTopograph(glance)               ? std::optional(FabricFormat::treeNetwork)
           : looksLikeRocmSmi(glance)                 ? std::optional(FabricFormat::rocmSmi)
           : hasOtherLinks(glance)                    ? std::nullopt
           : JsonGlance(rest).isAdjacency()           ? std::optional(FabricFormat::adjacency)
           : !isNative && foreignFormat(glance)       ? std::nullopt
                                                      : std::optional(FabricFormat::json);
  }
  const std::string start = lowered(rest.substr(0, 16));
  for (const std::string_view word : {"digraph", "graph", "strict"}) {
    if (start.starts_with(word) && start.size() > word.size() &&
        (isBlank(start[word.size()]) || start[word.size()] == '{' || start[word.size()] == '"')) {
      // GML begins with "graph [", Mermaid has no braces.
      const std::size_t next = rest.find_first_not_of(" \t\r\n", word.size());
      const bool isDot = rest.find('{') != std::string_view::npos && rest[next] != '[';
      return isDot || !foreignFormat(glance) ? std::optional(FabricFormat::dot) : std::nullopt;
    }
  }
  if (rest.starts_with("//") || rest.starts_with("/*")) {
    return isTaccl(rest) ? FabricFormat::taccl : FabricFormat::dot;
  }
  using Looks = bool (*)(std::string_view);
  for (const auto& [format, looks] :
       {std::pair<FabricFormat, Looks>{FabricFormat::ibnetdiscover, looksLikeIbnetdiscover},
        {FabricFormat::treeNetwork, looksLikeTopologyConf},
        {FabricFormat::treeNetwork, looksLikeTopologyYaml},
        {FabricFormat::treeNetwork, looksLikeTopograph},
        {FabricFormat::infraGraph, looksLikeInfraGraph},
        {FabricFormat::astraSim, looksLikeAstraSim},
        {FabricFormat::rocmSmi, looksLikeRocmSmi},
        {FabricFormat::simai, looksLikeSimai},
        {FabricFormat::tacos, looksLikeTacos}}) {
    if (looks(glance)) {
      return format;
    }
  }
  const auto foreign = foreignFormat(glance);
  if (looksLikeNvlinkDomains(glance)) {
    return FabricFormat::nvlinkDomains;
  }
  if (looksLikeNvlinkStatus(glance)) {
    return FabricFormat::nvidiaSmi;
  }
  if (glance.find("GPU0") != std::string_view::npos && looksLikePeerAccess(glance) && !looksLikeGpuMatrix(glance)) {
    return FabricFormat::nvlinkDomains;
  }
  if (looksLikeMatrixOfGpus(glance) && !start.starts_with("compute_nodes")) {
    return FabricFormat::nvidiaSmi;
  }
  if (foreign) {
    return std::nullopt;
  }
  if (!namesEndsOfLinks(rest) && looksLikeTextMatrix(rest)) {
    return FabricFormat::adjacency;
  }
  return std::nullopt;
}

}  // namespace

std::string_view toString(FabricFormat format) {
  return kNames[static_cast<std::size_t>(format)].name;
}

std::optional<FabricFormat> parseFabricFormat(std::string_view text) {
  for (const NamedFormat& entry : kNames) {
    if (entry.name == text) {
      return entry.format;
    }
  }
  return std::nullopt;
}

std::string formatNames() {
  constexpr auto kLast = static_cast<std::size_t>(FabricFormat::infraGraph);  // NVLink domains are no fabric
  std::string names;
  for (std::size_t i = 0; i <= kLast; ++i) {
    names += (i == 0 ? "" : i == kLast ? " or " : ", ") + std::string(kNames[i].name);
  }
  return names;
}

std::string writtenFormatNames() {
  return "json, dot, adjacency, simai, astra-sim or infragraph";
}

Result<FabricFormat> detectFormat(const std::filesystem::path& path, std::string_view text) {
  if (const auto plain = plainText(text)) {
    return detectFormat(path, *plain);
  }
  const std::string name = lowered(path.filename().string());
  if (name.ends_with(".dot") || name.ends_with(".gv")) {
    return FabricFormat::dot;
  }
  if (const auto found = byContent(text)) {
    return *found;
  }
  const bool isEmpty = std::all_of(text.begin(), text.end(), isBlank);
  if (const auto foreign = isEmpty ? std::nullopt : foreignFormat(text)) {
    return Error{ErrorCode::badInput, "this is " + foreign->what + ", which is not read here", foreign->advice,
                 Place{path.string()}};
  }
  if (!isEmpty && namesEndsOfLinks(text)) {
    return Error{ErrorCode::badInput, "this is a table of links, which the window reads and nothing else",
                 "open it in the window and save it as .fabric.json, or write the matrix of bandwidths",
                 Place{path.string()}};
  }
  const bool isNamedMatrix = name.ends_with(".csv") || name.ends_with(".adj");
  if ((isNamedMatrix && (isEmpty || hasRowOfNumbers(text))) || name.ends_with(".adj.json")) {
    return FabricFormat::adjacency;
  }
  if (isEmpty && name.ends_with(".topo")) {
    return FabricFormat::simai;
  }
  if (isEmpty && name.ends_with(".json")) {
    return FabricFormat::json;
  }
  return Error{ErrorCode::badInput, "the format of the file cannot be detected", "name the format: " + formatNames(),
               Place{path.string()}};
}

bool isNetworkFormat(FabricFormat format) {
  return format == FabricFormat::ibnetdiscover || format == FabricFormat::treeNetwork;
}

Result<ReadNetwork> readNetwork(std::string_view text, FabricFormat format, const std::string& fileName) {
  if (const auto plain = plainText(text)) {
    return readNetwork(*plain, format, fileName);
  }
  return format == FabricFormat::ibnetdiscover ? readIbnetdiscover(text, fileName) : readTreeNetwork(text, fileName);
}

Result<ImportResult> importFabric(std::string_view text, FabricFormat format, const std::string& fileName,
                                  const ImportOptions& options) {
  // Our own files are what they are; those of others may have come through a shell or a page.
  const bool isOwn = format == FabricFormat::json;
  if (const auto plain = isOwn ? std::nullopt : plainText(text)) {
    return importFabric(*plain, format, fileName, options);
  }
  switch (format) {
    case FabricFormat::json: {
      auto description = readFabricJson(text, fileName);
      if (!description) {
        return refusedExecutionPlan(text, fileName).value_or(description.error());
      }
      return ImportResult{std::move(*description), {}};
    }
    case FabricFormat::dot:
      return readDotWithHelper(text, fileName, options.dotHelper);
    case FabricFormat::adjacency:
      return readAdjacency(text, fileName);
    case FabricFormat::ncclXml:
      return readNcclTopology(
          text, fileName,
          {options.box, options.rates, options.nvidiaSmi.linkBandwidth, options.nvidiaSmi.nicBandwidth});
    case FabricFormat::nvidiaSmi: {
      NvidiaSmiOptions smi = options.nvidiaSmi;
      smi.box = options.box;
      return readNvidiaSmi(text, fileName, smi);
    }
    case FabricFormat::treeXml: {
      auto trees = readTreeXml(text, fileName);
      if (!trees) {
        return trees.error();
      }
      return ImportResult{std::move(trees->inferred), std::move(trees->findings)};
    }
    case FabricFormat::taccl: {
      TacclFabricOptions taccl = options.taccl;
      taccl.boxes = options.box.count;
      return readTacclFabric(text, fileName, taccl);
    }
    case FabricFormat::rocmSmi: {
      NvidiaSmiOptions smi = options.nvidiaSmi;
      smi.box = options.box;
      return readRocmSmi(text, fileName, smi);
    }
    case FabricFormat::hwloc: {
      NvidiaSmiOptions hwloc = options.nvidiaSmi;
      hwloc.box = options.box;
      return readHwloc(text, fileName, hwloc);
    }
    case FabricFormat::ibnetdiscover:
    case FabricFormat::treeNetwork: {
      auto read = readNetwork(text, format, fileName);
      if (!read) {
        return read.error();
      }
      auto joined = joinHosts(read->network, {}, options.network, fileName);
      if (joined) {
        joined->findings.insert(joined->findings.begin(), read->findings.begin(), read->findings.end());
      }
      return joined;
    }
    case FabricFormat::simai:
      return readSimai(text, fileName);
    case FabricFormat::astraSim:
      return readAstraSim(text, fileName);
    case FabricFormat::tacos:
      return readTacos(text, fileName);
    case FabricFormat::infraGraph:
      return readInfraGraph(text, fileName);
    case FabricFormat::nvlinkDomains:
      return Error{
          ErrorCode::badUsage,
          looksLikePeerAccess(text) ? "the output of nvidia-smi topo -p2p says which GPUs have access to each "
                                      "other, and nothing of their links"
                                    : "the file says which GPUs share an NVLink domain, and nothing of their "
                                      "links",
          "give the output of nvidia-smi topo -m, or both: coppice-cli import topo-m.txt and this file, or drop "
          "them together",
          Place{fileName, 0, 0, {}}};
  }
  return Error{ErrorCode::internal, "an unknown fabric format"};
}

Result<std::string> exportFabric(const fabric::Description& description, FabricFormat format,
                                 const DotHelperOptions& dotHelper) {
  switch (format) {
    case FabricFormat::json:
      return writeFabricJson(description);
    case FabricFormat::dot:
      return writeDotWithHelper(description, dotHelper);
    case FabricFormat::adjacency:
      return writeAdjacency(description);
    case FabricFormat::simai:
      return writeSimai(description);
    case FabricFormat::astraSim:
      return writeAstraSim(description);
    case FabricFormat::infraGraph:
      return writeInfraGraph(description);
    case FabricFormat::ncclXml:
    case FabricFormat::nvidiaSmi:
    case FabricFormat::treeXml:
    case FabricFormat::taccl:
    case FabricFormat::rocmSmi:
    case FabricFormat::ibnetdiscover:
    case FabricFormat::treeNetwork:
    case FabricFormat::tacos:
    case FabricFormat::hwloc:
    case FabricFormat::nvlinkDomains:
      break;
  }
  return Error{ErrorCode::badUsage, "fabrics cannot be written as " + std::string(toString(format)) + ", only read",
               "choose " + writtenFormatNames()};
}

}  // namespace coppice::io
