// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "dot/cgraph_session.hpp"
#include "dot/dot.hpp"
#include "dot/dot_names.hpp"
#include "dot/dot_text_check.hpp"
#include "io/exact_json.hpp"
#include "io/text_place.hpp"

namespace coppice::dot {
namespace {

constexpr char kAnonymous = '%';  // begins libcgraph's own name for something without one

struct Attribute {
  std::string name;
  std::string value;
};

/// A key of `extra` with its JSON text.
using Extras = std::vector<std::pair<std::string, std::string>>;

std::string joined(const Extras& extras) {
  std::string text;
  for (const auto& [key, value] : extras) {
    text += (text.empty() ? "{" : ",") + io::jsonQuoted(key) + ":" + value;
  }
  return text.empty() ? text : text + "}";
}

class Reader {
public:
  Reader(std::string_view text, const std::string& fileName) : m_text(text), m_fileName(fileName) {}

  io::ImportResult run() {
    const ReadState state = m_session.read(m_text);
    if (state == ReadState::tooLarge) {
      throw Failure{{ErrorCode::limit, "the graph has more than 262144 nodes or 1048576 edges", "give a smaller graph",
                     Place{m_fileName}}};
    }
    if (state == ReadState::failed) {
      refuseSyntax();
    }
    Agraph_t* graph = m_session.graph();
    if (static_cast<std::size_t>(agnnodes(graph)) > CgraphSession::kMaxNodes) {
      throw Failure{
          {ErrorCode::limit, "the graph has more than 262144 nodes", "give a smaller graph", Place{m_fileName}}};
    }
    readGraph(graph);
    readClusters(graph);
    readNodes(graph);
    readEdges(graph);
    summarise();
    if (m_session.hasMore()) {
      tell(Severity::warning, "only the first graph of the file was read", "split the file");
    }
    return {std::move(m_out), std::move(m_findings)};
  }

private:
  [[noreturn]] void refuseSyntax() const {
    std::string text;
    for (const CgraphMessage& message : m_session.messages()) {
      if (message.isError) {
        text = message.text;
        break;
      }
    }
    if (text.empty()) {
      throw Failure{{ErrorCode::badInput, "the text contains no graph", "write digraph { ... }", Place{m_fileName}}};
    }
    Place where{m_fileName};
    if (const std::size_t at = text.find("line "); at != std::string::npos) {
      std::from_chars(text.data() + at + 5, text.data() + text.size(), where.line);
    }
    std::string near;
    if (const std::size_t at = text.find("near "); at != std::string::npos) {
      near = text.substr(at + 5);
      while (!near.empty() && (near.back() == '\n' || near.back() == ' ')) {
        near.pop_back();
      }
      if (near.size() >= 2 && near.front() == '\'' && near.back() == '\'') {
        near = near.substr(1, near.size() - 2);
      }
    }
    throw Failure{{ErrorCode::badInput,
                   "not valid DOT" + (near.empty() ? ", or the text ends too early" : " near " + inQuotes(near)),
                   "correct the text here", std::move(where)}};
  }

  [[noreturn]] void refuse(const ElementRef& element, std::string message, std::string fix) const {
    throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix), Place{m_fileName, 0, 0, element}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}, const ElementRef& element = {}) {
    m_findings.push_back(
        {severity, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName, 0, 0, element}});
  }

  /// Every attribute of the object that is not empty. HTML values keep their outer brackets.
  std::vector<Attribute> attributes(void* object, int kind) {
    std::vector<Attribute> out;
    for (Agsym_t* symbol = agnxtattr(m_session.graph(), kind, nullptr); symbol != nullptr;
         symbol = agnxtattr(m_session.graph(), kind, symbol)) {
      char* value = agxget(object, symbol);
      if (value != nullptr && *value != '\0') {
        const bool isHtml = aghtmlstr(value) != 0;
        out.push_back({symbol->name, isHtml ? "<" + std::string(value) + ">" : std::string(value)});
      }
    }
    return out;
  }

  /// The value of an attribute that is a plain text for us.
  static std::string plainText(std::string value) {
    if (value.starts_with(kJsonPrefix)) {
      auto parsed = io::parseExactJson(std::string_view(value).substr(kJsonPrefix.size()), {});
      if (parsed && parsed->kind == io::JsonValue::Kind::string) {
        return std::move(parsed->text);
      }
    }
    return value;
  }

  std::string idOf(Agnode_t* node) const {
    const auto stated = m_idOf.find(AGSEQ(node));
    return stated == m_idOf.end() ? nameOf(node) : stated->second;
  }

  static std::string nameOf(void* object) {
    const char* name = agnameof(object);
    return name == nullptr ? std::string() : std::string(name);
  }

  void keep(Extras& extras, const Attribute& attribute) {
    std::string key = attribute.name;
    if (key.starts_with(kExtraPrefix)) {
      key = key.substr(kExtraPrefix.size());
    }
    std::string value = io::jsonQuoted(attribute.value);
    if (attribute.value.starts_with(kJsonPrefix)) {
      auto parsed = io::parseExactJson(std::string_view(attribute.value).substr(kJsonPrefix.size()), {},
                                       {std::size_t{16} << 20, 1000000, 32});
      if (parsed) {
        value = io::toJsonText(*parsed);
      }
    }
    const bool isThere =
        std::any_of(extras.begin(), extras.end(), [&](const auto& entry) { return entry.first == key; });
    if (!isThere) {
      extras.emplace_back(std::move(key), std::move(value));
    }
  }

  void readGraph(Agraph_t* graph) {
    m_out.name = nameOf(graph);
    if (m_out.name.starts_with(kAnonymous)) {
      m_out.name.clear();  // libcgraph's own name for a graph without one
    }
    for (Attribute& attribute : attributes(graph, AGRAPH)) {
      if (attribute.name == kNameAttribute) {
        m_out.name = plainText(std::move(attribute.value));
      } else {
        keep(m_graphExtras, attribute);
      }
    }
  }

  /// Boxes of the nodes; a nested cluster comes after the one around it, so the innermost wins.
  void readClusters(Agraph_t* graph) {
    struct Frame {
      Agraph_t* graph;
      std::string box;
    };
    std::vector<Frame> queue{{graph, {}}};
    Extras clusters;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (Agraph_t* sub = agfstsubg(queue[i].graph); sub != nullptr; sub = agnxtsubg(sub)) {
        const std::string name = nameOf(sub);
        std::string box = queue[i].box;
        if (name.starts_with("cluster")) {
          box = readCluster(sub, name, box, clusters);
          for (Agnode_t* node = agfstnode(sub); node != nullptr; node = agnxtnode(sub, node)) {
            assignBox(node, box);
          }
        } else if (!name.starts_with(kAnonymous)) {
          ++m_plainSubgraphs;
        }
        queue.push_back({sub, std::move(box)});
      }
    }
    if (!clusters.empty()) {
      Extras merged = std::move(clusters);
      const auto stated = std::find_if(m_graphExtras.begin(), m_graphExtras.end(),
                                       [](const auto& entry) { return entry.first == kClustersKey; });
      if (stated != m_graphExtras.end()) {
        const auto others = io::parseExactJson(stated->second, {});
        if (others && others->kind == io::JsonValue::Kind::object) {
          for (const auto& member : others->members) {
            if (std::none_of(merged.begin(), merged.end(),
                             [&](const auto& entry) { return entry.first == member.first; })) {
              merged.emplace_back(member.first, io::toJsonText(member.second));
            }
          }
          stated->second = joined(merged);
        }
      } else {
        m_graphExtras.emplace_back(kClustersKey, joined(merged));
      }
    }
  }

  std::string readCluster(Agraph_t* cluster, const std::string& name, const std::string& outer, Extras& clusters) {
    std::vector<Attribute> own;
    for (Attribute& attribute : attributes(cluster, AGRAPH)) {
      Agsym_t* symbol = agattr(m_session.graph(), AGRAPH, attribute.name.data(), nullptr);
      const char* around = symbol == nullptr ? nullptr : agxget(agparent(cluster), symbol);
      // A value equal to the one around it is inherited.
      if (around == nullptr || attribute.value != around) {
        own.push_back(std::move(attribute));
      }
    }
    const auto find = [&](std::string_view key) {
      return std::find_if(own.begin(), own.end(), [&](const Attribute& attribute) { return attribute.name == key; });
    };
    std::string box;
    if (const auto stated = find("box"); stated != own.end()) {
      box = plainText(stated->value);
      own.erase(stated);
      if (const auto label = find("label");
          label != own.end() &&
          plainText(label->value) == box.substr(box.rfind('/') == std::string::npos ? 0 : box.rfind('/') + 1)) {
        own.erase(label);
      }
    } else {
      std::string last = name.substr(std::string_view("cluster").size());
      last = last.starts_with('_') ? last.substr(1) : last;
      if (const auto label = find("label"); label != own.end()) {
        last = plainText(label->value);
        own.erase(label);
      }
      last = last.empty() ? "cluster" : last;
      box = outer.empty() ? last : outer + "/" + last;
    }
    if (!own.empty()) {
      Extras extras;
      for (const Attribute& attribute : own) {
        keep(extras, attribute);
      }
      clusters.emplace_back(box, joined(extras));
    }
    return box;
  }

  void assignBox(Agnode_t* node, const std::string& box) {
    std::string& assigned = m_boxOf[AGSEQ(node)];
    if (!assigned.empty() && !box.starts_with(assigned)) {
      ++m_boxConflicts;
    }
    assigned = box;
  }

  void readNodes(Agraph_t* graph) {
    std::vector<int> orders;
    for (Agnode_t* node = agfstnode(graph); node != nullptr; node = agnxtnode(graph, node)) {
      fabric::NodeDescription out;
      readId(node);
      out.id = idOf(node);
      m_lostNames += !m_idOf.contains(AGSEQ(node)) && out.id.starts_with(kAnonymous) ? 1 : 0;
      const ElementRef element{RefKind::node, out.id};
      Extras extras;
      std::string shape;
      bool hasKind = false;
      int order = kUnordered;
      if (const auto box = m_boxOf.find(AGSEQ(node)); box != m_boxOf.end()) {
        out.box = box->second;
      }
      for (Attribute& attribute : attributes(node, AGNODE)) {
        const std::string& key = attribute.name;
        if (key == "kind") {
          out.kind = plainText(attribute.value);
          hasKind = true;
        } else if (key == "box") {
          out.box = plainText(attribute.value);
        } else if (key == "rank") {
          out.rank = wholeNumber(element, attribute, 0);
        } else if (key == "pos") {
          readPosition(out, element, attribute, extras);
        } else if (key == "multicast") {
          out.multicast = truth(element, attribute);
        } else if (key == "aggregation") {
          out.aggregation = truth(element, attribute);
        } else if (key == "shape") {
          shape = attribute.value;
        } else if (key == kPositionExtra) {
          m_positionExtra = plainText(attribute.value);
        } else if (key == kOrder) {
          order = wholeNumber(element, attribute, 0);
        } else if (key != kIdAttribute && (key != "label" || attribute.value != "\\N")) {
          keep(extras, attribute);
        }
      }
      if (!hasKind) {
        out.kind = guessedKind(out.id, shape);
        ++m_guessedKinds;
      }
      if (!shape.empty() && shape != shapeOf(out.kind)) {
        keep(extras, {"shape", shape});
      }
      if (out.position && !m_positionExtra.empty()) {
        out.position->extra = m_positionExtra;
      }
      m_positionExtra.clear();
      out.extra = joined(extras);
      m_out.nodes.push_back(std::move(out));
      orders.push_back(order);
    }
    sortBy(orders, m_out.nodes);
  }

  static constexpr int kUnordered = std::numeric_limits<int>::max();

  /// Elements without a stated order come last, as they stand in the text.
  template <typename T>
  static void sortBy(const std::vector<int>& orders, std::vector<T>& items) {
    if (std::is_sorted(orders.begin(), orders.end())) {
      return;
    }
    std::vector<std::size_t> places(items.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return orders[a] < orders[b]; });
    std::vector<T> sorted;
    sorted.reserve(items.size());
    for (const std::size_t place : places) {
      sorted.push_back(std::move(items[place]));
    }
    items = std::move(sorted);
  }

  /// A node whose id DOT cannot hold states it beside.
  void readId(Agnode_t* node) {
    std::string key(kIdAttribute);
    Agsym_t* symbol = agattr(m_session.graph(), AGNODE, key.data(), nullptr);
    const char* value = symbol == nullptr ? nullptr : agxget(node, symbol);
    if (value != nullptr && *value != '\0') {
      m_idOf[AGSEQ(node)] = plainText(value);
    }
  }

  static std::string guessedKind(const std::string& id, const std::string& shape) {
    const std::string name = lowered(id);
    const auto has = [&](std::initializer_list<std::string_view> parts) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](std::string_view part) { return name.find(part) != std::string::npos; });
    };
    if (has({"gpu"})) {
      return "gpu";
    }
    if (has({"nic", "hca", "mlx"})) {
      return "nic";
    }
    if (has({"sw", "leaf", "spine", "rail", "plane", "tor"})) {
      return "switch";
    }
    for (const std::string_view known : {"hexagon", "octagon", "doubleoctagon", "diamond", "circle", "doublecircle"}) {
      if (shape == known) {
        return "switch";
      }
    }
    return shape == "component" || shape == "cds" ? "nic" : "gpu";
  }

  int wholeNumber(const ElementRef& element, const Attribute& attribute, int min) const {
    const auto value = numberIn<int>(attribute.value);
    if (!value || *value < min) {
      refuse(element, attribute.name + " is " + inQuotes(attribute.value),
             "write a whole number of at least " + std::to_string(min));
    }
    return *value;
  }

  bool truth(const ElementRef& element, const Attribute& attribute) const {
    const std::string text = lowered(attribute.value);
    if (text == "true" || text == "yes" || text == "1") {
      return true;
    }
    if (text != "false" && text != "no" && text != "0") {
      refuse(element, attribute.name + " is " + inQuotes(attribute.value), "write true or false");
    }
    return false;
  }

  void readPosition(fabric::NodeDescription& out, const ElementRef& element, const Attribute& attribute,
                    Extras& extras) {
    std::string_view text = attribute.value;
    if (text.ends_with('!')) {
      text.remove_suffix(1);
    }
    double x = 0;
    double y = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, x);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == ',') {
      const auto second = std::from_chars(first.ptr + 1, end, y);
      if (second.ec == std::errc{} && second.ptr == end && std::isfinite(x) && std::isfinite(y)) {
        out.position = fabric::Position{x, y, {}};
        return;
      }
    }
    tell(Severity::note, "pos " + inQuotes(attribute.value) + " is not \"x,y\" and was kept as it is", {}, element);
    keep(extras, attribute);
  }

  void readEdges(Agraph_t* graph) {
    std::vector<std::pair<unsigned, Agedge_t*>> edges;
    for (Agnode_t* node = agfstnode(graph); node != nullptr; node = agnxtnode(graph, node)) {
      for (Agedge_t* edge = agfstout(graph, node); edge != nullptr; edge = agnxtout(graph, edge)) {
        edges.emplace_back(static_cast<unsigned>(AGSEQ(edge)), edge);
      }
    }
    std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool isDirected = agisdirected(graph) != 0;
    m_out.links.reserve(edges.size());
    std::vector<int> orders;
    for (const auto& [sequence, edge] : edges) {
      orders.push_back(readEdge(edge, isDirected));
    }
    sortBy(orders, m_out.links);
  }

  /// Returns the edge's stated order.
  int readEdge(Agedge_t* edge, bool isDirected) {
    int order = kUnordered;
    fabric::LinkDescription out;
    out.src = idOf(agtail(edge));
    out.dst = idOf(aghead(edge));
    const ElementRef element = ElementPart{RefKind::edge, -1, out.src, out.dst};
    std::vector<Attribute> all = attributes(edge, AGEDGE);
    const Attribute* source = bandwidthSource(all, element);
    out.bandwidth = source->value;
    ++m_bandwidthSources[source->name];
    out.duplex = !isDirected;
    std::optional<bool> stated;
    Extras extras;
    for (const Attribute& attribute : all) {
      const std::string& key = attribute.name;
      if (&attribute == source || (key == "label" && attribute.value == out.bandwidth) || key == "key") {
        continue;
      }
      if (key == "dir") {
        if (attribute.value == "both" || attribute.value == "none") {
          out.duplex = true;
        } else if (attribute.value == "forward" || attribute.value == "back") {
          out.duplex = false;
          if (attribute.value == "back") {
            std::swap(out.src, out.dst);
          }
        } else {
          refuse(element, "dir is " + inQuotes(attribute.value), "write forward, back, both or none");
        }
      } else if (key == "duplex") {
        stated = truth(element, attribute);
      } else if (key == "count") {
        out.count = wholeNumber(element, attribute, 1);
      } else if (key == "latency") {
        out.latency = plainText(attribute.value);
      } else if (key == kOrder) {
        order = wholeNumber(element, attribute, 0);
      } else {
        keep(extras, attribute);
      }
    }
    out.duplex = stated.value_or(out.duplex);
    out.extra = joined(extras);
    m_out.links.push_back(std::move(out));
    return order;
  }

  const Attribute* bandwidthSource(const std::vector<Attribute>& all, const ElementRef& element) const {
    for (const std::string_view key : {"bandwidth", "bw", "capacity", "label"}) {
      for (const Attribute& attribute : all) {
        if (attribute.name != key) {
          continue;
        }
        const auto value = Bandwidth::parse(attribute.value);
        if (value) {
          return &attribute;
        }
        if (key != "label") {
          refuse(element, std::string(key) + ": " + value.error().message, value.error().fix);
        }
      }
    }
    refuse(element, "the edge has no bandwidth",
           "write [bandwidth=25] (GB/s per direction) on it, or edge [bandwidth=25] for all");
  }

  void summarise() {
    for (const auto& [name, count] : m_bandwidthSources) {
      if (name != "bandwidth") {
        tell(Severity::note, "the bandwidth of " + counted(count, "edge") + " was read from \"" + name + "\"");
      }
    }
    if (m_guessedKinds > 0) {
      tell(Severity::note, "the kind of " + counted(m_guessedKinds, "node") + " was guessed from name or shape",
           "state kind=gpu, switch or nic");
    }
    if (m_lostNames > 0) {
      tell(Severity::warning, "Graphviz keeps no names that begin with %: " + counted(m_lostNames, "node") + " renamed",
           "let names begin otherwise");
    }
    if (m_plainSubgraphs > 0) {
      tell(Severity::note,
           "not kept as a box: " + counted(m_plainSubgraphs, "subgraph") + " whose name does not begin with cluster",
           "call a subgraph cluster_NAME to make it a box");
    }
    if (m_boxConflicts > 0) {
      tell(Severity::warning, "in two clusters: " + counted(m_boxConflicts, "node") + ", of which the last one is used",
           "put each node into one cluster");
    }
    for (const CgraphMessage& message : m_session.messages()) {
      if (!message.isError) {
        const std::string shown = inQuotes(message.text);
        tell(Severity::warning, "Graphviz says " + shown);
      }
    }
    m_out.extra = joined(m_graphExtras);
  }

  CgraphSession m_session;
  std::string_view m_text;
  const std::string& m_fileName;
  fabric::Description m_out;
  std::vector<Finding> m_findings;
  Extras m_graphExtras;
  std::string m_positionExtra;
  std::map<unsigned, std::string> m_boxOf;
  std::map<unsigned, std::string> m_idOf;
  std::map<std::string, std::size_t> m_bandwidthSources;
  std::size_t m_guessedKinds = 0;
  std::size_t m_lostNames = 0;
  std::size_t m_plainSubgraphs = 0;
  std::size_t m_boxConflicts = 0;
};

}  // namespace

Result<io::ImportResult> readDot(std::string_view text, const std::string& fileName) {
  return guarded(
      [&]() -> Result<io::ImportResult> {
        if (text.starts_with("\xEF\xBB\xBF")) {
          text.remove_prefix(3);
        }
        if (auto outcome = checkDotText(text, fileName); !outcome) {
          return outcome.error();
        }
        return Reader(text, fileName).run();
      },
      {.memory = "the graph does not fit into memory", .memoryFix = "give a smaller graph", .where = Place{fileName}});
}

}  // namespace coppice::dot
