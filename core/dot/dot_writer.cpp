// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "dot/cgraph_session.hpp"
#include "dot/dot.hpp"
#include "dot/dot_names.hpp"
#include "io/exact_json.hpp"
#include "io/text_place.hpp"

namespace coppice::dot {
namespace {

constexpr std::size_t kMaxWrittenAttributes = 200;
constexpr std::size_t kMaxBoxDepth = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string numberText(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc{} ? std::string(buffer, end) : "0";
}

/// libcgraph writes backslashes and line ends as they are, so that a backslash before a quote or the end of the text,
/// and some line ends, read back as something else. A byte order mark it passes over anywhere.
bool isWritable(std::string_view text) {
  if (text.find_first_of("\r\n") != std::string_view::npos || text.find(kByteOrderMark) != std::string_view::npos) {
    return false;
  }
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    if (at + 1 == text.size() || text[at + 1] == '"') {
      return false;
    }
  }
  return true;
}

/// Names that begin with % are libcgraph's own; it forgets those of a text.
bool isNameWritable(std::string_view name) {
  return isWritable(name) && !name.starts_with('%');
}

/// JSON behind its prefix, with quotes and backslashes inside strings as numbers, so that it is writable.
std::string jsonAttribute(std::string_view json) {
  std::string out(kJsonPrefix);
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\\' && i + 1 < json.size() && (json[i + 1] == '"' || json[i + 1] == '\\')) {
      out += json[++i] == '"' ? "\\u0022" : "\\u005c";
    } else {
      out += json[i];
    }
  }
  return out;
}

/// An attribute's text, by way of JSON where DOT or the prefix would change it.
std::string plainAttribute(std::string_view text) {
  return isWritable(text) && !text.starts_with(kJsonPrefix) ? std::string(text) : jsonAttribute(io::jsonQuoted(text));
}

class Writer {
public:
  explicit Writer(const fabric::Description& description) : m_in(description) {}

  std::string run() {
    check();
    for (const fabric::NodeDescription& node : m_in.nodes) {
      m_stated.insert(node.id);
      for (std::size_t end = node.box.find('/'); end != std::string::npos; end = node.box.find('/', end + 1)) {
        m_stated.insert("cluster_" + node.box.substr(0, end));
      }
      m_stated.insert("cluster_" + node.box);
    }
    const bool isNameable = isNameWritable(m_in.name);
    m_session.create(isNameable ? m_in.name : std::string());
    if (m_session.graph() == nullptr) {
      throw std::bad_alloc();
    }
    if (!isNameable) {
      setPlain(m_session.graph(), AGRAPH, kNameAttribute, m_in.name);
    }
    writeGraphExtras();
    writeNodes();
    writeLinks();
    return m_session.write();
  }

private:
  [[noreturn]] static void refuse(const ElementRef& element, std::string message, std::string fix,
                                  ErrorCode code = ErrorCode::badInput) {
    throw Failure{{code, std::move(message), std::move(fix), Place{{}, 0, 0, element}}};
  }

  static void checkText(const ElementRef& element, std::string_view text) {
    if (text.find('\0') != std::string_view::npos) {
      refuse(element, "a text contains a zero byte, which DOT cannot express", "remove it");
    }
    if (io::firstIllFormedByte(text)) {
      refuse(element, "a text is not UTF-8", "convert it to UTF-8");
    }
  }

  void check() const {
    checkText({RefKind::field, "name"}, m_in.name);
    std::set<std::string_view> ids;
    for (const fabric::NodeDescription& node : m_in.nodes) {
      const ElementRef element{RefKind::node, node.id};
      if (!ids.insert(node.id).second) {
        refuse(element, "two nodes have this id", "give each node its own id");
      }
      for (const std::string* text : {&node.id, &node.kind, &node.box}) {
        checkText(element, *text);
      }
      if (node.id.empty()) {
        refuse(element, "a node without id", "give each node an id");
      }
    }
    for (std::size_t i = 0; i < m_in.links.size(); ++i) {
      const fabric::LinkDescription& link = m_in.links[i];
      const ElementPart element{RefKind::link, static_cast<std::int64_t>(i), link.src, link.dst};
      if (!ids.contains(link.src) || !ids.contains(link.dst)) {
        refuse(element, "one end of the link is not a node", "correct its ends");
      }
      checkText(element, link.bandwidth);
      checkText(element, link.latency.value_or(""));
    }
  }

  void set(void* object, int kind, std::string_view key, std::string_view value) {
    if (value.empty()) {
      return;
    }
    std::string name(key);
    std::string text(value);
    if (m_names[kind].insert(name).second && m_names[kind].size() > kMaxWrittenAttributes) {
      refuse({}, "more than " + std::to_string(kMaxWrittenAttributes) + " different extra keys, too many for DOT",
             "remove some", ErrorCode::limit);
    }
    char none[] = "";
    agsafeset(object, name.data(), text.data(), none);
  }

  void setPlain(void* object, int kind, std::string_view key, std::string_view value) {
    if (!value.empty()) {
      set(object, kind, key, plainAttribute(value));
    }
  }

  /// Members of an `extra` object; nothing for a text that is none.
  static std::vector<std::pair<std::string, io::JsonValue>> members(const std::string& extra) {
    if (extra.empty()) {
      return {};
    }
    auto parsed = io::parseExactJson(extra, {}, {std::size_t{16} << 20, 1000000, 32});
    if (!parsed || parsed->kind != io::JsonValue::Kind::object) {
      return {};
    }
    return std::move(parsed->members);
  }

  /// A plain string stands as it is; anything that would read back otherwise is written as JSON.
  static std::string valueText(const io::JsonValue& value) {
    return value.kind == io::JsonValue::Kind::string && !value.text.empty() &&
                   value.text.find('\0') == std::string::npos
               ? plainAttribute(value.text)
               : jsonAttribute(io::toJsonText(value));
  }

  void setExtras(void* object, int kind, const std::vector<std::pair<std::string, io::JsonValue>>& extras,
                 std::initializer_list<std::string_view> reserved, std::string_view reservedKey = {},
                 std::string_view reservedValue = {}) {
    for (const auto& [key, value] : extras) {
      if (key.find('\0') != std::string::npos) {
        refuse({}, "an extra key contains a zero byte, which DOT cannot express", "remove it");
      }
      const std::string text = valueText(value);
      if (!isWritable(key)) {
        refuse({}, "the extra key " + inQuotes(key) + " contains a backslash or line end, which DOT cannot express",
               "rename it");
      }
      const bool isTaken = key.empty() || key.starts_with(kExtraPrefix) ||
                           std::find(reserved.begin(), reserved.end(), key) != reserved.end() ||
                           (key == reservedKey && text == reservedValue);
      set(object, kind, isTaken ? std::string(kExtraPrefix) + key : key, text);
    }
  }

  void writeGraphExtras() {
    auto extras = members(m_in.extra);
    const auto clusters = std::find_if(extras.begin(), extras.end(), [](const auto& entry) {
      return entry.first == kClustersKey && entry.second.kind == io::JsonValue::Kind::object;
    });
    if (clusters != extras.end()) {
      std::set<std::string_view> boxes;
      for (const fabric::NodeDescription& node : m_in.nodes) {
        for (std::size_t end = node.box.find('/'); end != std::string::npos; end = node.box.find('/', end + 1)) {
          boxes.insert(std::string_view(node.box).substr(0, end));
        }
        boxes.insert(node.box);
      }
      io::JsonValue left = clusters->second;
      left.members.clear();
      for (auto& [box, attributes] : clusters->second.members) {
        if (!box.empty() && boxes.contains(box) && attributes.kind == io::JsonValue::Kind::object) {
          m_clusterExtras.emplace(box, attributes.members);
        } else {
          left.members.emplace_back(box, attributes);
        }
      }
      if (left.members.empty()) {
        extras.erase(clusters);
      } else {
        clusters->second = std::move(left);
      }
    }
    setExtras(m_session.graph(), AGRAPH, extras, {kNameAttribute, "box"});
  }

  /// The name itself, or one like it that DOT can hold and nothing else has.
  std::string unusedName(std::string name) {
    if (!isNameWritable(name)) {
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '\\' || c == '\n' || c == '\r' || c == '%'; }, '_');
      for (std::size_t at = name.find(kByteOrderMark); at != std::string::npos; at = name.find(kByteOrderMark)) {
        name.replace(at, kByteOrderMark.size(), "_");
      }
      while (m_stated.contains(name)) {
        name += '_';
      }
    }
    m_stated.insert(name);
    return name;
  }

  /// The cluster of a box, made with those around it on first use.
  Agraph_t* clusterOf(const std::string& box) {
    Agraph_t* graph = m_session.graph();
    if (box.empty()) {
      return graph;
    }
    const auto parts = static_cast<std::size_t>(std::count(box.begin(), box.end(), '/')) + 1;
    std::size_t end = parts > kMaxBoxDepth ? box.size() : std::min(box.find('/'), box.size());
    for (;;) {
      const std::string path = box.substr(0, end);
      const auto [entry, isNew] = m_clusters.try_emplace(path, nullptr);
      if (isNew) {
        std::string name = unusedName("cluster_" + path);
        entry->second = agsubg(graph, name.data(), 1);
        if (entry->second == nullptr) {
          throw std::bad_alloc();
        }
        const std::size_t slash = path.rfind('/');
        const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
        const auto extras = m_clusterExtras.find(path);
        const bool hasLabel =
            extras != m_clusterExtras.end() &&
            std::any_of(extras->second.begin(), extras->second.end(), [](const auto& e) { return e.first == "label"; });
        setPlain(entry->second, AGRAPH, "box", path);
        if (!hasLabel) {
          setPlain(entry->second, AGRAPH, "label", last);
        }
        if (extras != m_clusterExtras.end()) {
          setExtras(entry->second, AGRAPH, extras->second, {"box"}, "label", plainAttribute(last));
        }
      }
      graph = entry->second;
      if (end == box.size()) {
        return graph;
      }
      end = std::min(box.find('/', end + 1), box.size());
    }
  }

  /// libcgraph writes clusters first, then each node followed by its edges, ordered by their heads. Where that is not
  /// the fabric's order, each element states its place.
  [[nodiscard]] bool isNodeOrderKept() const {
    std::unordered_map<std::string_view, std::size_t> index;
    for (std::size_t i = 0; i < m_in.nodes.size(); ++i) {
      if (!m_in.nodes[i].box.empty()) {
        return false;
      }
      index.emplace(m_in.nodes[i].id, i);
    }
    // A head that no earlier node mentioned must be the very next node.
    std::vector<std::vector<std::size_t>> heads(m_in.nodes.size());
    for (const fabric::LinkDescription& link : m_in.links) {
      heads[index.at(link.src)].push_back(index.at(link.dst));
    }
    std::size_t mentioned = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      mentioned = std::max(mentioned, i + 1);
      std::sort(heads[i].begin(), heads[i].end());
      for (const std::size_t head : heads[i]) {
        if (head > mentioned) {
          return false;
        }
        mentioned = std::max(mentioned, head + 1);
      }
    }
    return true;
  }

  [[nodiscard]] bool isLinkOrderKept() const {
    std::unordered_map<std::string_view, std::size_t> index;
    for (std::size_t i = 0; i < m_in.nodes.size(); ++i) {
      index.emplace(m_in.nodes[i].id, i);
    }
    return std::is_sorted(m_in.links.begin(), m_in.links.end(), [&](const auto& a, const auto& b) {
      return std::pair(index.at(a.src), index.at(a.dst)) < std::pair(index.at(b.src), index.at(b.dst));
    });
  }

  void writeNodes() {
    const bool isOrderKept = isNodeOrderKept();
    for (std::size_t i = 0; i < m_in.nodes.size(); ++i) {
      const fabric::NodeDescription& in = m_in.nodes[i];
      std::string id = unusedName(in.id);
      Agnode_t* node = agnode(m_session.graph(), id.data(), 1);
      if (node == nullptr) {
        throw std::bad_alloc();
      }
      m_nodes.emplace(in.id, node);
      if (id != in.id) {
        setPlain(node, AGNODE, kIdAttribute, in.id);
      }
      agsubnode(clusterOf(in.box), node, 1);
      const std::string_view shape = shapeOf(in.kind);
      const auto extras = members(in.extra);
      setPlain(node, AGNODE, "kind", in.kind);
      if (!isOrderKept) {
        set(node, AGNODE, kOrder, std::to_string(i));
      }
      if (in.rank) {
        set(node, AGNODE, "rank", std::to_string(*in.rank));
      }
      if (in.position && std::isfinite(in.position->x) && std::isfinite(in.position->y)) {
        set(node, AGNODE, "pos", numberText(in.position->x) + "," + numberText(in.position->y) + "!");
        setPlain(node, AGNODE, kPositionExtra, in.position->extra);
      }
      if (in.multicast) {
        set(node, AGNODE, "multicast", "true");
      }
      if (in.aggregation) {
        set(node, AGNODE, "aggregation", "true");
      }
      set(node, AGNODE, "shape", shape);
      setExtras(node, AGNODE, extras,
                {"kind", "box", "rank", "pos", "multicast", "aggregation", kPositionExtra, kOrder}, "shape", shape);
    }
  }

  void writeLinks() {
    // Edges follow their tails, so a changed order of the nodes' text changes that of the edges too.
    const bool isOrderKept = isNodeOrderKept() && isLinkOrderKept();
    for (std::size_t i = 0; i < m_in.links.size(); ++i) {
      const fabric::LinkDescription& in = m_in.links[i];
      Agedge_t* edge = agedge(m_session.graph(), m_nodes.at(in.src), m_nodes.at(in.dst), nullptr, 1);
      if (edge == nullptr) {
        throw std::bad_alloc();
      }
      const auto extras = members(in.extra);
      setPlain(edge, AGEDGE, "bandwidth", in.bandwidth);
      setPlain(edge, AGEDGE, "label", in.bandwidth);
      if (in.duplex) {
        set(edge, AGEDGE, "dir", "both");
      }
      if (!isOrderKept) {
        set(edge, AGEDGE, kOrder, std::to_string(i));
      }
      if (in.count != 1) {
        set(edge, AGEDGE, "count", std::to_string(in.count));
      }
      setPlain(edge, AGEDGE, "latency", in.latency.value_or(""));
      setExtras(edge, AGEDGE, extras, {"bandwidth", "dir", "duplex", "count", "latency", "key", kOrder}, "label",
                in.bandwidth);
    }
  }

  CgraphSession m_session;
  const fabric::Description& m_in;
  std::unordered_map<std::string, Agnode_t*> m_nodes;
  std::map<std::string, Agraph_t*> m_clusters;
  std::map<std::string, std::vector<std::pair<std::string, io::JsonValue>>> m_clusterExtras;
  std::set<std::string> m_names[3];
  std::set<std::string> m_stated;  // every name that is taken
};

}  // namespace

Result<std::string> writeDot(const fabric::Description& description) {
  return guarded([&] { return Writer(description).run(); },
                 {.memory = "the graph does not fit into memory", .memoryFix = "export a smaller fabric"});
}

}  // namespace coppice::dot
