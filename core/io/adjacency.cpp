// SPDX-License-Identifier: Apache-2.0
#include "io/adjacency.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "io/exact_json.hpp"
#include "io/limits.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxGraphNodes = 65536;
constexpr std::size_t kMaxMatrix = 4096;
constexpr std::size_t kMaxLabel = 4096;

/// (server, 'KIND', index), the label of the official code.
struct OfficialLabel {
  std::int64_t server = 0;
  std::string kind;
  std::int64_t index = 0;
};

std::optional<OfficialLabel> parseOfficialLabel(std::string_view text) {
  OfficialLabel label;
  const auto skip = [&](char expected) {
    while (!text.empty() && text.front() == ' ') {
      text.remove_prefix(1);
    }
    if (text.empty() || text.front() != expected) {
      return false;
    }
    text.remove_prefix(1);
    return true;
  };
  const auto number = [&](std::int64_t& value) {
    while (!text.empty() && text.front() == ' ') {
      text.remove_prefix(1);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!skip('(') || !number(label.server) || !skip(',') || !skip('\'')) {
    return std::nullopt;
  }
  const std::size_t end = text.find('\'');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  label.kind = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!skip(',') || !number(label.index) || !skip(')') || !text.empty()) {
    return std::nullopt;
  }
  return label;
}

class AdjacencyReader {
public:
  AdjacencyReader(std::string_view text, const std::string& fileName)
      : m_text(text), m_fileName(fileName), m_places(text, fileName) {}

  Result<ImportResult> run() {
    const std::size_t start = m_text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) {
      refuse(0, "the file is empty", "give an edge list or a capacity matrix");
    }
    if (const auto byte = firstIllFormedByte(m_text)) {
      refuse(*byte, "the file is not UTF-8 here", "convert it to UTF-8");
    }
    if (m_text[start] == '{' || m_text[start] == '[') {
      auto parsed = parseExactJson(m_text, m_fileName, {kMaxNetworkBytes, 20000000, 32});
      if (!parsed) {
        return parsed.error();
      }
      readJson(*parsed);
    } else {
      readTextMatrix();
    }
    return finish();
  }

private:
  struct Node {
    std::string label;
    std::string kind = {};  // as stated, else empty
    bool isCompute = false;
  };

  [[noreturn]] void refuse(std::size_t offset, std::string message, std::string fix,
                           ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), m_places.at(offset)}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName}});
  }

  /// Python's str() of a label; strings inside a tuple are quoted as repr() quotes them.
  std::string labelText(const JsonValue& value, bool isNested = false) const {
    switch (value.kind) {
      case JsonValue::Kind::string: {
        if (!isNested) {
          return value.text;
        }
        const char quote =
            value.text.find('\'') != std::string::npos && value.text.find('"') == std::string::npos ? '"' : '\'';
        std::string out(1, quote);
        for (const char c : value.text) {
          if (c == quote || c == '\\') {
            out += '\\';
          }
          out += c;
        }
        return out + quote;
      }
      case JsonValue::Kind::number:
        return value.text;
      case JsonValue::Kind::array: {
        std::string out = "(";
        for (std::size_t i = 0; i < value.items.size(); ++i) {
          out += (i > 0 ? ", " : "") + labelText(value.items[i], true);
        }
        return out + (value.items.size() == 1 ? ",)" : ")");
      }
      case JsonValue::Kind::boolean:
        return value.text == "true" ? "True" : "False";
      case JsonValue::Kind::null:
      case JsonValue::Kind::object:
        break;
    }
    refuse(value.offset, "a node label is null or an object", "use a string, a number or an array");
  }

  int nodeIndex(std::string label, std::size_t offset) {
    if (label.empty() || label.size() > kMaxLabel) {
      refuse(offset, label.empty() ? "a node label is empty" : "a node label is longer than 4096 bytes",
             "give each node a short label");
    }
    const auto [entry, isNew] = m_index.try_emplace(label, static_cast<int>(m_nodes.size()));
    if (isNew) {
      if (m_nodes.size() >= kMaxGraphNodes) {
        refuse(offset, "more than " + std::to_string(kMaxGraphNodes) + " nodes", "give a smaller graph",
               ErrorCode::limit);
      }
      m_nodes.push_back({std::move(label)});
    }
    return entry->second;
  }

  void readJson(const JsonValue& root) {
    if (root.kind == JsonValue::Kind::array) {
      readJsonMatrix(root);
      return;
    }
    const JsonValue* links = nullptr;
    const JsonValue* nodes = nullptr;
    const JsonValue* compute = nullptr;
    const JsonValue* matrix = nullptr;
    bool isDirected = true;
    for (const auto& [key, value] : root.members) {
      if (key == "edges" || key == "links") {
        if (links != nullptr) {
          refuse(value.offset, "both \"edges\" and \"links\" are given", "keep one of them");
        }
        links = &asArray(value, key);
      } else if (key == "nodes") {
        nodes = &asArray(value, key);
      } else if (key == "compute_nodes") {
        compute = &asArray(value, key);
      } else if (key == "matrix") {
        matrix = &asArray(value, key);
      } else if (key == "name" && value.kind == JsonValue::Kind::string) {
        m_name = value.text;
      } else if (key == "directed" && value.kind == JsonValue::Kind::boolean) {
        isDirected = value.text == "true";
      } else if (key != "multigraph" && key != "graph") {
        tell(Severity::note, "key " + inQuotes(key) + " was ignored");
      }
    }
    if ((links == nullptr) == (matrix == nullptr)) {
      refuse(root.offset,
             links == nullptr ? "neither edges nor a matrix are given" : "both edges and a matrix are given",
             "give {\"compute_nodes\": [...], \"edges\": [[from, to, capacity], ...]}");
    }
    if (nodes != nullptr) {
      readNodes(*nodes);
    }
    if (compute != nullptr && matrix == nullptr) {
      readComputeNodes(*compute, nodes != nullptr);
    }
    if (links != nullptr) {
      for (const JsonValue& link : links->items) {
        readEdge(link, isDirected);
      }
    } else {
      readJsonMatrix(*matrix);
      if (compute != nullptr) {
        readComputeNodes(*compute, true);
      }
    }
  }

  const JsonValue& asArray(const JsonValue& value, const std::string& key) const {
    if (value.kind != JsonValue::Kind::array) {
      refuse(value.offset, "\"" + key + "\" is not an array", "write [ ... ]");
    }
    return value;
  }

  void readNodes(const JsonValue& nodes) {
    for (const JsonValue& entry : nodes.items) {
      const JsonValue* label = &entry;
      std::string kind;
      if (entry.kind == JsonValue::Kind::object) {
        label = entry.find("id");
        if (label == nullptr) {
          refuse(entry.offset, "a node has no \"id\"", "write {\"id\": ...}");
        }
        for (const auto& [key, value] : entry.members) {
          if (key == "kind" && value.kind == JsonValue::Kind::string) {
            kind = value.text;
            if (!fabric::parseNodeKind(kind)) {
              refuse(value.offset, "node kind " + inQuotes(kind) + " is unknown", "write gpu, switch or nic");
            }
          } else if (key != "id") {
            ++m_ignoredAttributes;
          }
        }
      }
      const std::size_t before = m_nodes.size();
      const int index = nodeIndex(labelText(*label), label->offset);
      if (m_nodes.size() == before) {
        refuse(label->offset, "node " + inQuotes(m_nodes[index].label) + " appears twice",
               "give each node its own label (a number and a string of the same text count as equal)");
      }
      m_nodes.back().kind = std::move(kind);
    }
  }

  void readComputeNodes(const JsonValue& compute, bool areNodesListed) {
    m_hasCompute = true;
    for (const JsonValue& label : compute.items) {
      markCompute(labelText(label), label.offset, areNodesListed);
    }
  }

  void markCompute(std::string label, std::size_t offset, bool mustExist) {
    if (mustExist && !m_index.contains(label)) {
      refuse(offset, "compute node " + inQuotes(label) + " is not among the nodes", "correct the label");
    }
    const int index = nodeIndex(std::move(label), offset);
    Node& node = m_nodes[index];
    if (node.isCompute) {
      refuse(offset, "compute node " + inQuotes(node.label) + " appears twice", "remove one");
    }
    node.isCompute = true;
    m_compute.push_back(index);
  }

  void readEdge(const JsonValue& link, bool isDirected) {
    const JsonValue* from = nullptr;
    const JsonValue* to = nullptr;
    const JsonValue* capacity = nullptr;
    if (link.kind == JsonValue::Kind::array && link.items.size() == 3) {
      from = &link.items[0];
      to = &link.items[1];
      capacity = &link.items[2];
    } else if (link.kind == JsonValue::Kind::object) {
      for (const auto& [key, value] : link.members) {
        if (key == "source" || key == "src") {
          from = &value;
        } else if (key == "target" || key == "dst") {
          to = &value;
        } else if (key == "capacity") {
          capacity = &value;
        } else if (key != "key") {
          ++m_ignoredAttributes;
        }
      }
    }
    if (from == nullptr || to == nullptr || capacity == nullptr) {
      refuse(link.offset, "an edge lacks its two ends or its capacity",
             "write [from, to, capacity] or {\"source\": ..., \"target\": ..., \"capacity\": ...}");
    }
    if (capacity->kind != JsonValue::Kind::number && capacity->kind != JsonValue::Kind::string) {
      refuse(capacity->offset, "the capacity is neither a number nor a string",
             "write for example 25, 12.5 or \"25/2\"");
    }
    const int a = nodeIndex(labelText(*from), from->offset);
    const int b = nodeIndex(labelText(*to), to->offset);
    addEdge(a, b, capacity->text, capacity->offset, false);
    if (!isDirected) {
      addEdge(b, a, capacity->text, capacity->offset, false);
    }
  }

  /// isZeroNone: a matrix entry, where 0 says that there is no edge.
  void addEdge(int a, int b, const std::string& capacity, std::size_t offset, bool isZeroNone) {
    const auto value = Bandwidth::parse(capacity);
    if (!value) {
      refuse(offset, value.error().message, value.error().fix, value.error().code);
    }
    const Rational& amount = value->gigabytesPerSecond();
    if (isZeroNone && amount.isZero()) {
      return;
    }
    if (!amount.isPositive()) {
      refuse(offset,
             "the capacity from " + inQuotes(m_nodes[a].label) + " to " + inQuotes(m_nodes[b].label) + " is " +
                 amount.toString(),
             "give a capacity above 0, or leave the edge out");
    }
    if (a == b) {
      ++m_selfEdges;
      return;
    }
    if (const auto opposite = m_unpaired.find({b, a, amount}); opposite != m_unpaired.end()) {
      m_links[opposite->second.back()].duplex = true;
      opposite->second.pop_back();
      if (opposite->second.empty()) {
        m_unpaired.erase(opposite);
      }
      return;
    }
    m_unpaired[{a, b, amount}].push_back(m_links.size());
    m_links.push_back({m_nodes[a].label, m_nodes[b].label, capacity, false});
  }

  void readJsonMatrix(const JsonValue& matrix) {
    const std::size_t n = matrix.items.size();
    if (n == 0 || n > kMaxMatrix) {
      refuse(matrix.offset, "the matrix has " + std::to_string(n) + " rows",
             "give 1 to " + std::to_string(kMaxMatrix) + ", or an edge list",
             n == 0 ? ErrorCode::badInput : ErrorCode::limit);
    }
    nameMatrixNodes(n, matrix.offset);
    for (std::size_t i = 0; i < n; ++i) {
      const JsonValue& row = matrix.items[i];
      if (row.kind != JsonValue::Kind::array || row.items.size() != n) {
        refuse(row.offset,
               "row " + std::to_string(i) + " of the matrix " +
                   (row.kind == JsonValue::Kind::array ? "has " + std::to_string(row.items.size()) + " entries"
                                                       : std::string("is not an array")) +
                   ", but there are " + std::to_string(n) + " rows",
               "give a square matrix, or edges in an object {\"edges\": [...]}");
      }
      for (std::size_t j = 0; j < n; ++j) {
        const JsonValue& entry = row.items[j];
        if (entry.kind != JsonValue::Kind::number && entry.kind != JsonValue::Kind::string) {
          refuse(entry.offset, "a matrix entry is neither a number nor a string", "write 0 where there is no edge");
        }
        addEdge(static_cast<int>(i), static_cast<int>(j), entry.text, entry.offset, true);
      }
    }
  }

  /// Labels 0 .. n-1 unless the nodes are named.
  void nameMatrixNodes(std::size_t n, std::size_t offset) {
    if (m_nodes.empty()) {
      for (std::size_t i = 0; i < n; ++i) {
        nodeIndex(std::to_string(i), offset);
      }
    } else if (m_nodes.size() != n) {
      refuse(offset, std::to_string(m_nodes.size()) + " node names for a matrix of " + std::to_string(n) + " rows",
             "give one name for each row");
    }
  }

  struct Token {
    std::string text;
    std::size_t offset;
  };

  static bool isSeparator(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r'; }

  /// Splits at separators outside parentheses and quotes; quotes around a whole token go.
  static std::vector<Token> tokens(std::string_view line, std::size_t lineStart) {
    std::vector<Token> out;
    std::size_t at = 0;
    while (at < line.size()) {
      if (isSeparator(line[at])) {
        ++at;
        continue;
      }
      const std::size_t start = at;
      int depth = 0;
      char quote = 0;
      for (; at < line.size() && (depth > 0 || quote != 0 || !isSeparator(line[at])); ++at) {
        const char c = line[at];
        if (quote != 0) {
          quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
          quote = c;
        } else {
          depth += c == '(' ? 1 : (c == ')' && depth > 0 ? -1 : 0);
        }
      }
      std::string_view text = line.substr(start, at - start);
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
      }
      out.push_back({std::string(text), lineStart + start});
    }
    return out;
  }

  void readTextMatrix() {
    std::vector<Token> computeLabels;
    std::vector<std::vector<Token>> rows;
    bool hasHeads = false;
    std::size_t start = 0;
    while (start < m_text.size()) {
      const std::size_t end = std::min(m_text.find('\n', start), m_text.size());
      std::string_view line = m_text.substr(start, end - start);
      const std::size_t lineStart = start;
      start = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        continue;
      }
      const std::size_t text = line.find_first_not_of(" \t#");
      constexpr std::string_view kCompute = "compute_nodes:";
      if (rows.empty() && text != std::string_view::npos && line.substr(text).starts_with(kCompute)) {
        if (m_hasCompute) {
          refuse(lineStart, "a second line of compute nodes", "keep one of them");
        }
        m_hasCompute = true;
        computeLabels = tokens(line.substr(text + kCompute.size()), lineStart + text + kCompute.size());
        continue;
      }
      if (line.front() == '#') {
        continue;
      }
      std::vector<Token> found = tokens(line, lineStart);
      if (found.empty()) {
        refuse(lineStart, "a line of separators alone", "write the row's numbers");
      }
      if (rows.empty() && !hasHeads &&
          (line.front() == ',' || line.front() == ';' || !Rational::parse(found.front().text))) {
        hasHeads = true;
        readHeads(found);
        continue;
      }
      if (rows.size() >= kMaxMatrix) {
        refuse(lineStart, "the matrix has more than " + std::to_string(kMaxMatrix) + " rows", "give an edge list",
               ErrorCode::limit);
      }
      rows.push_back(std::move(found));
    }
    const std::size_t n = rows.size();
    if (n == 0) {
      refuse(0, "the file is neither JSON nor a matrix of numbers", "give an edge list or a capacity matrix");
    }
    nameMatrixNodes(n, rows.front().front().offset);
    for (std::size_t i = 0; i < n; ++i) {
      addTextRow(i, rows[i], n, hasHeads);
    }
    for (Token& label : computeLabels) {
      markCompute(std::move(label.text), label.offset, true);
    }
  }

  void readHeads(const std::vector<Token>& heads) {
    for (const Token& head : heads) {
      const std::size_t before = m_nodes.size();
      nodeIndex(head.text, head.offset);
      if (m_nodes.size() == before) {
        refuse(head.offset, "column name " + inQuotes(head.text) + " appears twice", "give each node its own name");
      }
    }
  }

  void addTextRow(std::size_t row, const std::vector<Token>& entries, std::size_t n, bool hasHeads) {
    const bool isNamed = hasHeads && entries.size() == n + 1;
    if (entries.size() != n + (isNamed ? 1 : 0)) {
      refuse(entries.front().offset,
             "row " + std::to_string(row) + " has " + std::to_string(entries.size()) + " entries, but there are " +
                 std::to_string(n) + " rows",
             "give a square matrix with 0 where there is no edge");
    }
    if (isNamed && entries.front().text != m_nodes[row].label) {
      refuse(entries.front().offset,
             "row " + std::to_string(row) + " is called " + inQuotes(entries.front().text) + ", but its column " +
                 inQuotes(m_nodes[row].label),
             "use the same names in the same order");
    }
    for (std::size_t j = 0; j < n; ++j) {
      const Token& entry = entries[j + (isNamed ? 1 : 0)];
      addEdge(static_cast<int>(row), static_cast<int>(j), entry.text, entry.offset, true);
    }
  }

  Result<ImportResult> finish() {
    fabric::Description description;
    description.name = m_name;
    std::vector<std::optional<OfficialLabel>> official;
    bool hasOfficialGpu = false;
    bool hasKinds = false;
    for (const Node& node : m_nodes) {
      official.push_back(parseOfficialLabel(node.label));
      hasOfficialGpu = hasOfficialGpu || (official.back() && lowered(official.back()->kind) == "gpu");
      hasKinds = hasKinds || !node.kind.empty();
    }
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
      const Node& node = m_nodes[i];
      const std::string officialKind = official[i] ? lowered(official[i]->kind) : "";
      fabric::NodeDescription out;
      out.id = node.label;
      if (m_hasCompute) {
        const bool isNic = node.kind == "nic" || (node.kind.empty() && officialKind == "nic");
        out.kind = node.isCompute ? "gpu" : (isNic ? "nic" : "switch");
        if (!node.kind.empty() && (node.kind == "gpu") != node.isCompute) {
          tell(Severity::warning,
               "node " + inQuotes(node.label) + " states kind " + node.kind + ", but is " +
                   (node.isCompute ? "" : "not ") + "among compute_nodes, which counts",
               "make the two agree");
        }
      } else if (!node.kind.empty()) {
        out.kind = node.kind;
      } else if (hasOfficialGpu) {
        out.kind = officialKind == "gpu" || officialKind == "nic" ? officialKind : "switch";
      } else {
        out.kind = "gpu";
      }
      if (official[i] && official[i]->server >= 0) {
        out.box = "box" + std::to_string(official[i]->server);
      }
      description.nodes.push_back(std::move(out));
    }
    if (!m_hasCompute && !hasKinds) {
      tell(Severity::note,
           hasOfficialGpu ? "no compute_nodes are given: the nodes labelled (server, 'GPU', index) are the GPUs"
                          : "no compute_nodes are given: every node is taken for a GPU",
           "list them in compute_nodes");
    }
    giveRanks(description, official);
    description.links = std::move(m_links);
    if (m_selfEdges > 0) {
      tell(Severity::warning, "left out " + counted(m_selfEdges, "edge") + " from a node to itself",
           "remove it: it carries nothing");
    }
    if (m_ignoredAttributes > 0) {
      tell(Severity::note, "ignored " + counted(m_ignoredAttributes, "attribute") + " of nodes and edges",
           "capacity, id and kind are read");
    }
    return ImportResult{std::move(description), std::move(m_findings)};
  }

  /// Ranks are written only where they differ from the nodes' order.
  void giveRanks(fabric::Description& description, const std::vector<std::optional<OfficialLabel>>& official) const {
    std::vector<int> order;
    bool isOfficial = true;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
      if (description.nodes[i].kind == "gpu") {
        order.push_back(static_cast<int>(i));
        isOfficial = isOfficial && official[i].has_value();
      }
    }
    const std::vector<int> natural = order;
    if (isOfficial) {
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        const OfficialLabel& x = *official[a];
        const OfficialLabel& y = *official[b];
        return std::tie(x.server, x.index) < std::tie(y.server, y.index);
      });
    } else if (m_hasCompute) {
      order = m_compute;
    }
    if (order == natural) {
      return;
    }
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      description.nodes[order[rank]].rank = static_cast<int>(rank);
    }
  }

  std::string_view m_text;
  std::string m_fileName;
  TextPlaces m_places;
  std::string m_name;
  std::vector<Node> m_nodes;
  std::unordered_map<std::string, int> m_index;
  std::vector<int> m_compute;
  bool m_hasCompute = false;
  std::vector<fabric::LinkDescription> m_links;
  std::map<std::tuple<int, int, Rational>, std::vector<std::size_t>> m_unpaired;
  std::size_t m_selfEdges = 0;
  std::size_t m_ignoredAttributes = 0;
  std::vector<Finding> m_findings;
};

Error linkError(std::size_t index, const fabric::LinkDescription& link, ErrorCode code, std::string message,
                std::string fix) {
  Place where;
  where.element = ElementPart{RefKind::link, static_cast<std::int64_t>(index), link.src, link.dst};
  return {code, std::move(message), std::move(fix), std::move(where)};
}

Result<std::string> write(const fabric::Description& description) {
  std::unordered_map<std::string, int> index;
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    if (!index.emplace(description.nodes[i].id, static_cast<int>(i)).second) {
      Place where;
      where.element = {RefKind::node, description.nodes[i].id, static_cast<std::int64_t>(i)};
      return Error{ErrorCode::badInput, "two nodes have this id", "give each node its own id", std::move(where)};
    }
  }
  struct Edge {
    int from;
    int to;
    Rational capacity;
  };
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    const std::size_t size = description.nodes[i].id.size();
    if (size > kMaxLabel) {
      return Error{
          ErrorCode::limit,
          "its id has " + std::to_string(size) + " bytes; the format reads at most " + std::to_string(kMaxLabel),
          "rename the node", Place{.element = {RefKind::node, i}}};
    }
  }
  std::vector<Edge> edges;
  std::map<std::pair<int, int>, std::size_t> edgeOf;
  for (std::size_t i = 0; i < description.links.size(); ++i) {
    const fabric::LinkDescription& link = description.links[i];
    const auto src = index.find(link.src);
    const auto dst = index.find(link.dst);
    if (src == index.end() || dst == index.end()) {
      return linkError(i, link, ErrorCode::badInput, "one end of the link is not a node", "correct its ends");
    }
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (!bandwidth) {
      return linkError(i, link, bandwidth.error().code, bandwidth.error().message, bandwidth.error().fix);
    }
    if (link.count < 1 || !bandwidth->isPositive()) {
      return linkError(i, link, ErrorCode::badInput, "the link has no bandwidth", "give a bandwidth and count above 0");
    }
    const Rational capacity = bandwidth->gigabytesPerSecond() * Rational(link.count);
    const auto add = [&](int from, int to) {
      const auto [entry, isNew] = edgeOf.try_emplace({from, to}, edges.size());
      if (isNew) {
        edges.push_back({from, to, capacity});
      } else {
        edges[entry->second].capacity += capacity;
      }
    };
    add(src->second, dst->second);
    if (link.duplex) {
      add(dst->second, src->second);
    }
  }
  std::vector<int> gpus;
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    if (fabric::parseNodeKind(description.nodes[i].kind) == fabric::NodeKind::gpu) {
      gpus.push_back(static_cast<int>(i));
    }
  }
  const auto node = [&](int i) -> const fabric::NodeDescription& { return description.nodes[i]; };
  if (std::all_of(gpus.begin(), gpus.end(), [&](int i) { return node(i).rank.has_value(); })) {
    std::stable_sort(gpus.begin(), gpus.end(), [&](int a, int b) { return *node(a).rank < *node(b).rank; });
  }
  std::string out = "{\n";
  if (!description.name.empty()) {
    out += "  \"name\": " + jsonQuoted(description.name) + ",\n";
  }
  const auto list = [&](const char* key, std::size_t count, auto item) {
    out += std::string("  \"") + key + "\": [";
    for (std::size_t i = 0; i < count; ++i) {
      out += (i > 0 ? ",\n    " : "\n    ") + item(i);
    }
    out += count > 0 ? "\n  ]" : "]";
  };
  list("compute_nodes", gpus.size(), [&](std::size_t i) { return jsonQuoted(node(gpus[i]).id); });
  out += ",\n";
  list("nodes", description.nodes.size(), [&](std::size_t i) { return jsonQuoted(description.nodes[i].id); });
  out += ",\n";
  list("edges", edges.size(), [&](std::size_t i) {
    const std::string capacity = toExactText(edges[i].capacity);
    return "[" + jsonQuoted(node(edges[i].from).id) + ", " + jsonQuoted(node(edges[i].to).id) + ", " +
           (capacity.find('/') == std::string::npos ? capacity : jsonQuoted(capacity)) + "]";
  });
  return out + "\n}\n";
}

}  // namespace

Result<ImportResult> readAdjacency(std::string_view text, const std::string& fileName) {
  return guarded(
      [&]() -> Result<ImportResult> {
        if (text.size() > kMaxNetworkBytes) {
          return Error{ErrorCode::limit, "the text is larger than 64 MiB", "give a smaller graph", Place{fileName}};
        }
        return AdjacencyReader(text, fileName).run();
      },
      {.overflowFix = "use fewer digits or another unit",
       .memory = "the graph does not fit into memory",
       .memoryFix = "give a smaller graph",
       .where = Place{fileName}});
}

Result<std::string> writeAdjacency(const fabric::Description& description) {
  return guarded([&] { return write(description); },
                 {.overflow = "the merged bandwidth of parallel links leaves the exact 64-bit range",
                  .memory = "the text does not fit into memory",
                  .memoryFix = "export a smaller fabric"});
}

}  // namespace coppice::io
