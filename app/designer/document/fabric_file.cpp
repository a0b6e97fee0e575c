// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/fabric_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "designer/document/arrangement.hpp"
#include "designer/document/edit.hpp"
#include "io/exact_json.hpp"
#include "io/fabric_json.hpp"

namespace coppice::designer {
namespace {

using io::JsonValue;

constexpr std::string_view kDrawingKey = "drawing";

std::string number(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::optional<double> toNumber(const JsonValue& value) {
  double result = 0;
  if (value.kind != JsonValue::Kind::number) {
    return std::nullopt;
  }
  const auto parsed = std::from_chars(value.text.data(), value.text.data() + value.text.size(), result);
  return parsed.ec == std::errc() && std::isfinite(result) ? std::optional(result) : std::nullopt;
}

/// The members of an `extra` text; empty where it is none.
std::vector<std::pair<std::string, JsonValue>> membersOf(const std::string& extra) {
  if (extra.empty()) {
    return {};
  }
  auto parsed = io::parseExactJson(extra, "", {.bytes = io::kMaxJsonBytes});
  if (!parsed || parsed->kind != JsonValue::Kind::object) {
    return {};
  }
  return std::move(parsed->members);
}

std::string extraText(const std::vector<std::pair<std::string, JsonValue>>& members) {
  std::string text;
  for (const auto& [key, value] : members) {
    text += (text.empty() ? "{" : ",") + io::jsonQuoted(key) + ":" + io::toJsonText(value);
  }
  return text.empty() ? text : text + "}";
}

/// Takes known members out of an object by name; what is left is foreign. A known key of the wrong type counts as
/// foreign: it is kept as it is and written back.
class Members {
public:
  explicit Members(std::vector<std::pair<std::string, JsonValue>> members) : m_members(std::move(members)) {}

  std::optional<double> number(std::string_view key) {
    return take<double>(key, [](const JsonValue& value) { return toNumber(value); });
  }
  std::optional<std::string> string(std::string_view key) {
    return take<std::string>(key, [](const JsonValue& value) {
      return value.kind == JsonValue::Kind::string ? std::optional(value.text) : std::nullopt;
    });
  }
  bool flag(std::string_view key) {
    // false says nothing and is not written again, but must survive.
    return take<bool>(key,
                      [](const JsonValue& value) {
                        return value.kind == JsonValue::Kind::boolean && value.text == "true" ? std::optional(true)
                                                                                              : std::nullopt;
                      })
        .value_or(false);
  }
  std::optional<Rect> rect(std::string_view key) {
    return take<Rect>(key, [](const JsonValue& value) -> std::optional<Rect> {
      constexpr std::size_t kSides = 4;
      if (value.kind != JsonValue::Kind::array || value.items.size() != kSides) {
        return std::nullopt;
      }
      std::array<double, kSides> sides{};
      for (std::size_t i = 0; i < kSides; ++i) {
        const auto side = toNumber(value.items[i]);
        if (!side) {
          return std::nullopt;
        }
        sides[i] = *side;
      }
      return sides[2] > 0 && sides[3] > 0 ? std::optional(Rect{sides[0], sides[1], sides[2], sides[3]}) : std::nullopt;
    });
  }
  std::optional<std::vector<JsonValue>> array(std::string_view key) {
    return take<std::vector<JsonValue>>(key, [](const JsonValue& value) {
      return value.kind == JsonValue::Kind::array ? std::optional(value.items) : std::nullopt;
    });
  }
  [[nodiscard]] std::string rest() const { return extraText(m_members); }
  [[nodiscard]] bool isEmpty() const { return m_members.empty(); }

private:
  template <typename Value, typename Read>
  std::optional<Value> take(std::string_view key, const Read& read) {
    for (auto member = m_members.begin(); member != m_members.end(); ++member) {
      if (member->first == key) {
        std::optional<Value> value = read(member->second);
        if (value) {
          m_members.erase(member);
        }
        return value;
      }
    }
    return std::nullopt;
  }

  std::vector<std::pair<std::string, JsonValue>> m_members;
};

/// Builds boxes from paths while a model is being read.
class BoxPaths {
public:
  explicit BoxPaths(Edit& edit) : m_edit(edit) {}

  BoxId at(std::string_view path) {
    // "a//b" and "/a" are odd but legal: a step may be empty. Only a missing path means no box.
    if (path.empty()) {
      return {};
    }
    if (const auto known = m_known.find(std::string(path)); known != m_known.end()) {
      return known->second;
    }
    // Deeper than any person nests; beyond it the rest of the path is one name.
    constexpr int kMaxDepth = 64;
    BoxId box;
    std::size_t start = 0;
    for (int depth = 1;; ++depth) {
      std::size_t end = path.find('/', start);
      if (depth == kMaxDepth) {
        end = std::string_view::npos;
      }
      const std::string key(path.substr(0, end));
      // The empty first step of "/a" has the key "", which no other step can have.
      const auto [known, isNew] = m_known.try_emplace(key);
      if (isNew) {
        Box made;
        made.name = path.substr(start, end == std::string_view::npos ? end : end - start);
        made.parent = box;
        known->second = m_edit.add(std::move(made));
      }
      box = known->second;
      if (end == std::string_view::npos) {
        return box;
      }
      start = end + 1;
    }
  }

private:
  Edit& m_edit;
  std::unordered_map<std::string, BoxId> m_known;
};

/// Reads a list of objects; returns how many items `use` refused.
template <typename Use>
std::size_t unusedItems(Members& drawing, std::string_view key, const Use& use) {
  std::size_t unused = 0;
  if (auto items = drawing.array(key)) {
    for (JsonValue& item : *items) {
      unused += item.kind != JsonValue::Kind::object || !use(Members(std::move(item.members))) ? 1 : 0;
    }
  }
  return unused;
}

std::string rectText(const Rect& rect) {
  return "[" + number(rect.x) + ", " + number(rect.y) + ", " + number(rect.width) + ", " + number(rect.height) + "]";
}

bool isFinite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

std::string foreign(const std::string& extra) {
  std::string text;
  for (const auto& [key, value] : membersOf(extra)) {
    text += ", " + io::jsonQuoted(key) + ": " + io::toJsonText(value);
  }
  return text;
}

std::string nodeLine(const Node& node) {
  const NodeDrawing& drawing = node.drawing;
  std::string text;
  if (drawing.isPlaced && isFinite(drawing.position)) {
    text += ", \"x\": " + number(drawing.position.x) + ", \"y\": " + number(drawing.position.y);
  }
  text += drawing.isPinned ? ", \"pinned\": true" : "";
  if (drawing.width > 0 && std::isfinite(drawing.width)) {
    text += ", \"width\": " + number(drawing.width);
  }
  if (!drawing.role.empty()) {
    text += ", \"role\": " + io::jsonQuoted(drawing.role);
  }
  text += foreign(drawing.extra);
  return text.empty() ? text : "{\"id\": " + io::jsonQuoted(node.facts.name) + text + "}";
}

/// Each box after the one around it and what is before it there, so that reading gives the boxes the same order.
std::vector<BoxId> outerFirst(const Model& model) {
  std::vector<BoxId> result;
  std::vector<BoxId> waiting(model.boxesIn({}).rbegin(), model.boxesIn({}).rend());
  while (!waiting.empty()) {
    const BoxId id = waiting.back();
    waiting.pop_back();
    result.push_back(id);
    waiting.insert(waiting.end(), model.boxesIn(id).rbegin(), model.boxesIn(id).rend());
  }
  return result;
}

std::string list(std::string_view key, const std::vector<std::string>& lines) {
  std::string text = "    \"" + std::string(key) + "\": [";
  for (const std::string& line : lines) {
    text += (&line == lines.data() ? "\n      " : ",\n      ") + line;
  }
  return text + "\n    ]";
}

/// Reads the drawing section of a fabric file and the elements, in the order in which they refer to each other.
class ModelReader {
public:
  explicit ModelReader(const fabric::Description& description)
      : m_description(description), m_edit(m_empty), m_boxes(m_edit) {}

  ReadModel read() {
    m_header.name = m_description.name;
    Members drawing = drawingSection();
    readBoxes(drawing);
    readNotes(drawing);
    readNodeDrawings(drawing);
    if (m_unused > 0) {
      warn(std::to_string(m_unused) + " entries of the drawing section match no element and were left out",
           "save the file to remove them");
    }
    m_header.drawingExtra = drawing.rest();
    m_edit.setHeader(std::move(m_header));
    addNodes();
    addLinks();
    m_result.model.applyTrusted(m_edit.patch());
    placeTheRest();
    return std::move(m_result);
  }

private:
  void warn(std::string text, std::string fix) {
    m_result.findings.push_back({Severity::warning,
                                 ErrorCode::badInput,
                                 std::move(text),
                                 std::move(fix),
                                 {.element = {RefKind::field, "drawing"}}});
  }

  /// All other foreign keys become the header's extra text.
  Members drawingSection() {
    auto foreignKeys = membersOf(m_description.extra);
    const auto member = std::ranges::find(foreignKeys, kDrawingKey, &std::pair<std::string, JsonValue>::first);
    if (member != foreignKeys.end() && member->second.kind == JsonValue::Kind::object) {
      Members drawing(std::move(member->second.members));
      foreignKeys.erase(member);
      m_header.extra = extraText(foreignKeys);
      return drawing;
    }
    if (member != foreignKeys.end()) {
      warn("the drawing section is not an object", "remove it, and arrange the fabric again");
    }
    m_header.extra = m_description.extra;
    return Members({});
  }

  void readBoxes(Members& drawing) {
    m_unused += unusedItems(drawing, "boxes", [&](Members item) {
      const auto path = item.string("path");
      if (!path || path->empty()) {
        return false;
      }
      const auto type = item.string("type");
      const bool isFolded = item.flag("folded");
      const auto frame = item.rect("frame");
      m_edit.change(m_boxes.at(*path), [&](Box& box) {
        box.type = type.value_or("");
        box.isFolded = isFolded;
        box.frame = frame;
        box.extra = item.rest();
      });
      return true;
    });
  }

  void readNotes(Members& drawing) {
    m_unused += unusedItems(drawing, "notes", [&](Members item) {
      Note note;
      const auto text = item.string("text");
      const auto x = item.number("x");
      const auto y = item.number("y");
      if (!text || !x || !y) {
        return false;
      }
      note.text = *text;
      note.position = {*x, *y};
      const auto width = item.number("width");
      note.width = width && *width > 0 ? *width : 0;
      note.extra = item.rest();
      m_edit.add(std::move(note));
      return true;
    });
  }

  void readNodeDrawings(Members& drawing) {
    std::unordered_map<std::string, int> countOf;
    for (const fabric::NodeDescription& node : m_description.nodes) {
      ++countOf[node.id];
    }
    m_unused += unusedItems(drawing, "nodes", [&](Members item) {
      const auto id = item.string("id");
      // Of two nodes with one name neither is meant; they carry their drawing themselves.
      if (!id || countOf[*id] != 1 || m_drawnNodes.contains(*id)) {
        return false;
      }
      NodeDrawing& node = m_drawnNodes[*id];
      const auto width = item.number("width");
      node.width = width && *width > 0 ? *width : 0;
      const auto x = item.number("x");
      const auto y = item.number("y");
      node.isPlaced = x && y;
      node.position = node.isPlaced ? Point{*x, *y} : Point{};
      node.isPinned = item.flag("pinned");
      node.role = item.string("role").value_or("");
      node.extra = item.rest();
      return true;
    });
  }

  void addNodes() {
    for (const fabric::NodeDescription& in : m_description.nodes) {
      Node node;
      node.facts = {in.id, in.kind, m_boxes.at(in.box), in.rank, in.multicast, in.aggregation, in.extra};
      if (const auto drawn = m_drawnNodes.find(in.id); drawn != m_drawnNodes.end()) {
        node.drawing = drawn->second;
      }
      if (in.position && !node.drawing.isPlaced && std::isfinite(in.position->x) && std::isfinite(in.position->y)) {
        node.drawing.position = {in.position->x, in.position->y};
        node.drawing.isPlaced = true;
        if (node.drawing.extra.empty()) {
          node.drawing.extra = in.position->extra;
        }
      }
      const bool isPlaced = node.drawing.isPlaced;
      const NodeId id = m_edit.add(std::move(node));
      m_byName.try_emplace(in.id, id);
      if (!isPlaced) {
        m_unplaced.push_back(id);
      }
    }
  }

  void addLinks() {
    const auto end = [&](const std::string& name) {
      const auto found = m_byName.find(name);
      return found != m_byName.end() ? LinkEnd{found->second, {}} : LinkEnd{{}, name};
    };
    for (const fabric::LinkDescription& in : m_description.links) {
      m_edit.add(Link{end(in.src), end(in.dst), in.bandwidth, in.duplex, in.count, in.latency, in.extra});
    }
  }

  void placeTheRest() {
    if (m_unplaced.empty()) {
      return;
    }
    Edit placing(m_result.model);
    for (const auto& [id, place] : quickArrangement(m_result.model, m_unplaced)) {
      placing.change(id, [&place = place](Node& node) { node.drawing.position = place; });
    }
    const Patch patch = placing.patch();
    m_result.model.applyTrusted(patch);
  }

  const fabric::Description& m_description;
  const Model m_empty;
  Edit m_edit;
  BoxPaths m_boxes;
  Header m_header;
  std::map<std::string, NodeDrawing> m_drawnNodes;
  std::unordered_map<std::string, NodeId> m_byName;
  std::vector<NodeId> m_unplaced;
  std::size_t m_unused = 0;  ///< entries of the drawing section
  ReadModel m_result;
};

}  // namespace

ReadModel readModel(const fabric::Description& description) {
  return ModelReader(description).read();
}

ReadModel readArranged(const fabric::Description& description) {
  ReadModel result = readModel(description);
  std::vector<NodeId> all;
  for (const auto& [id, node] : result.model.nodes()) {
    all.push_back(id);
  }
  Edit placing(result.model);
  for (const auto& [id, place] : quickArrangement(result.model, all)) {
    placing.change(id, [&place = place](Node& node) {
      node.drawing.position = place;
      node.drawing.isPlaced = true;
    });
  }
  const Patch patch = placing.patch();
  result.model.applyTrusted(patch);
  return result;
}

Result<ReadModel> readFabricFile(std::string_view text, const std::string& fileName) {
  auto description = io::readFabricJson(text, fileName);
  if (!description) {
    return description.error();
  }
  return readModel(*description);
}

std::string writeFabricFile(const Model& model) {
  fabric::Description facts = model.description();
  std::vector<std::string> sections;

  std::vector<std::string> lines;
  for (const BoxId id : outerFirst(model)) {
    const Box& box = *model.find(id);
    std::string text;
    text += box.type.empty() ? "" : ", \"type\": " + io::jsonQuoted(box.type);
    text += box.isFolded ? ", \"folded\": true" : "";
    text += box.frame ? ", \"frame\": " + rectText(*box.frame) : "";
    text += foreign(box.extra);
    // A box that nodes name by their path needs no line of its own.
    if (!text.empty() || (model.nodesIn(id).empty() && model.boxesIn(id).empty())) {
      if (const std::string path = model.boxPath(id); !path.empty()) {
        lines.push_back("{\"path\": " + io::jsonQuoted(path) + text + "}");
      }
    }
  }
  if (!lines.empty()) {
    sections.push_back(list("boxes", lines));
  }

  lines.clear();
  std::size_t at = 0;
  for (const auto& [id, node] : model.nodes()) {
    fabric::NodeDescription& out = facts.nodes[at++];
    if (model.countNamed(node.facts.name) == 1) {
      out.position.reset();
      if (std::string line = nodeLine(node); !line.empty()) {
        lines.push_back(std::move(line));
      }
    }
  }
  if (!lines.empty()) {
    sections.push_back(list("nodes", lines));
  }

  lines.clear();
  for (const auto& [id, note] : model.notes()) {
    std::string text = "{\"text\": " + io::jsonQuoted(note.text) + ", \"x\": " + number(note.position.x) +
                       ", \"y\": " + number(note.position.y);
    text += note.width > 0 ? ", \"width\": " + number(note.width) : "";
    lines.push_back(text + foreign(note.extra) + "}");
  }
  if (!lines.empty()) {
    sections.push_back(list("notes", lines));
  }

  for (const auto& [key, value] : membersOf(model.header().drawingExtra)) {
    sections.push_back("    " + io::jsonQuoted(key) + ": " + io::toJsonText(value));
  }

  std::string text = io::writeFabricJson(facts);
  if (sections.empty()) {
    return text;
  }
  constexpr std::string_view kEnd = "\n}\n";
  text.resize(text.size() - kEnd.size());
  text += ",\n  \"" + std::string(kDrawingKey) + "\": {\n";
  for (const std::string& section : sections) {
    text += section + (&section == &sections.back() ? "\n" : ",\n");
  }
  return text + "  }\n}\n";
}

}  // namespace coppice::designer
