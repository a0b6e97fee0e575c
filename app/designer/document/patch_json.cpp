// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/patch_json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/exact_json.hpp"

namespace coppice::designer {
namespace {

using io::JsonValue;

/// One element as a flat array of strings, numbers, booleans and nulls: short, and without names to keep in step with
/// the file format. kVersion of journal.cpp counts its changes.
class Writer {
public:
  void value(const std::string& text) { item(io::jsonQuoted(text)); }
  void value(bool flag) { item(flag ? "true" : "false"); }
  void value(int number) { item(std::to_string(number)); }
  void value(std::uint32_t number) { item(std::to_string(number)); }
  void value(double number) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
    // What is not finite never gets onto the canvas; null stands for it.
    item(std::isfinite(number) ? std::string(buffer.data(), end) : "null");
  }
  template <typename Element>
  void value(Id<Element> id) {
    value(id.value);
  }
  void value(const Point& point) {
    value(point.x);
    value(point.y);
  }
  void value(const LinkEnd& end) {
    value(end.node);
    value(end.missing);
  }
  template <typename Value>
  void value(const std::optional<Value>& optional) {
    if (optional) {
      value(*optional);
    } else {
      item("null");
    }
  }
  void value(const Rect& rect) {
    for (const double side : {rect.x, rect.y, rect.width, rect.height}) {
      value(side);
    }
  }
  void value(const std::optional<Rect>& rect) {
    value(rect.has_value());
    value(rect.value_or(Rect{}));
  }
  [[nodiscard]] std::string take() { return std::move(m_text) + "]"; }

private:
  void item(const std::string& text) { m_text += (m_text.size() == 1 ? "" : ",") + text; }
  std::string m_text = "[";
};

class Reader {
public:
  explicit Reader(const std::vector<JsonValue>& items) : m_items(items) {}

  void value(std::string& text) { text = next(JsonValue::Kind::string); }
  void value(bool& flag) { flag = next(JsonValue::Kind::boolean) == "true"; }
  void value(int& number) { integer(number); }
  void value(std::uint32_t& number) { integer(number); }
  void value(double& number) {
    if (isNull()) {
      ++m_at;
      number = 0;
      return;
    }
    const std::string text = next(JsonValue::Kind::number);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    m_isGood = m_isGood && parsed.ec == std::errc() && std::isfinite(number);
  }
  template <typename Element>
  void value(Id<Element>& id) {
    value(id.value);
  }
  void value(Point& point) {
    value(point.x);
    value(point.y);
  }
  void value(LinkEnd& end) {
    value(end.node);
    value(end.missing);
  }
  template <typename Value>
  void value(std::optional<Value>& optional) {
    if (isNull()) {
      ++m_at;
      optional.reset();
    } else {
      Value read{};
      value(read);
      optional = std::move(read);
    }
  }
  void value(Rect& rect) {
    for (double* side : {&rect.x, &rect.y, &rect.width, &rect.height}) {
      value(*side);
    }
  }
  void value(std::optional<Rect>& rect) {
    bool isThere = false;
    Rect read;
    value(isThere);
    value(read);
    rect = isThere ? std::optional(read) : std::nullopt;
  }
  [[nodiscard]] bool isGood() const { return m_isGood && m_at == m_items.size(); }

private:
  [[nodiscard]] bool isNull() const { return m_at < m_items.size() && m_items[m_at].kind == JsonValue::Kind::null; }
  std::string next(JsonValue::Kind kind) {
    if (m_at >= m_items.size() || m_items[m_at].kind != kind) {
      m_isGood = false;
      return {};
    }
    return m_items[m_at++].text;
  }
  template <typename Number>
  void integer(Number& number) {
    const std::string text = next(JsonValue::Kind::number);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    m_isGood = m_isGood && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  }

  const std::vector<JsonValue>& m_items;
  std::size_t m_at = 0;
  bool m_isGood = true;
};

/// The one list of fields that writing and reading share.
template <typename Archive, typename Value>
void fields(Archive& archive, Value& element) requires std::same_as<std::remove_const_t<Value>, Node> {
  archive.value(element.facts.name);
  archive.value(element.facts.kind);
  archive.value(element.facts.box);
  archive.value(element.facts.rank);
  archive.value(element.facts.multicast);
  archive.value(element.facts.aggregation);
  archive.value(element.facts.extra);
  archive.value(element.drawing.position);
  archive.value(element.drawing.isPlaced);
  archive.value(element.drawing.isPinned);
  archive.value(element.drawing.width);
  archive.value(element.drawing.role);
  archive.value(element.drawing.extra);
}

template <typename Archive, typename Value>
void fields(Archive& archive, Value& element) requires std::same_as<std::remove_const_t<Value>, Link> {
  archive.value(element.tail);
  archive.value(element.head);
  archive.value(element.bandwidth);
  archive.value(element.duplex);
  archive.value(element.count);
  archive.value(element.latency);
  archive.value(element.extra);
}

template <typename Archive, typename Value>
void fields(Archive& archive, Value& element) requires std::same_as<std::remove_const_t<Value>, Box> {
  archive.value(element.name);
  archive.value(element.parent);
  archive.value(element.type);
  archive.value(element.isFolded);
  archive.value(element.frame);
  archive.value(element.extra);
}

template <typename Archive, typename Value>
void fields(Archive& archive, Value& element) requires std::same_as<std::remove_const_t<Value>, Note> {
  archive.value(element.text);
  archive.value(element.position);
  archive.value(element.width);
  archive.value(element.extra);
}

template <typename Archive, typename Value>
void fields(Archive& archive, Value& header) requires std::same_as<std::remove_const_t<Value>, Header> {
  archive.value(header.name);
  archive.value(header.extra);
  archive.value(header.drawingExtra);
}

template <typename Element>
std::string entry(Id<Element> id, const Element* element) {
  std::string text = "[" + std::to_string(id.value) + ",";
  if (element == nullptr) {
    return text + "null]";
  }
  Writer writer;
  fields(writer, *element);
  return text + writer.take() + "]";
}

template <typename Element>
void writeList(std::string& text, std::string_view key, const std::vector<Swap<Element>>& swaps) {
  if (swaps.empty()) {
    return;
  }
  text += (text.size() == 1 ? "\"" : ",\"") + std::string(key) + "\":[";
  for (const Swap<Element>& swap : swaps) {
    text += (&swap == swaps.data() ? "" : ",") + entry(swap.id, swap.after ? &*swap.after : nullptr);
  }
  text += "]";
}

template <typename Element>
void writeList(std::string& text, std::string_view key, const Table<Element>& table) {
  if (table.isEmpty()) {
    return;
  }
  text += (text.size() == 1 ? "\"" : ",\"") + std::string(key) + "\":[";
  bool isFirst = true;
  for (const auto& [id, element] : table) {
    text += (isFirst ? "" : ",") + entry(id, &element);
    isFirst = false;
  }
  text += "]";
}

void writeHeader(std::string& text, const Header& header) {
  Writer writer;
  fields(writer, header);
  text += (text.size() == 1 ? "\"header\":" : ",\"header\":") + writer.take();
}

template <typename Element>
bool readList(const JsonValue& root, std::string_view key, const Table<Element>& table,
              std::vector<Swap<Element>>& swaps) {
  const JsonValue* list = root.find(key);
  if (list == nullptr) {
    return true;
  }
  for (const JsonValue& item : list->items) {
    if (item.items.size() != 2) {
      return false;
    }
    Swap<Element> swap;
    const std::string& id = item.items[0].text;
    if (std::from_chars(id.data(), id.data() + id.size(), swap.id.value).ec != std::errc()) {
      return false;
    }
    if (const Element* before = table.find(swap.id)) {
      swap.before = *before;
    }
    if (item.items[1].kind == JsonValue::Kind::array) {
      Element after;
      Reader reader(item.items[1].items);
      fields(reader, after);
      if (!reader.isGood()) {
        return false;
      }
      swap.after = std::move(after);
    }
    swaps.push_back(std::move(swap));
  }
  return true;
}

}  // namespace

std::string patchToJson(const Patch& patch) {
  std::string text = "{";
  writeList(text, "boxes", patch.boxes);
  writeList(text, "nodes", patch.nodes);
  writeList(text, "links", patch.links);
  writeList(text, "notes", patch.notes);
  if (patch.header) {
    writeHeader(text, patch.header->after);
  }
  return text + "}";
}

std::string modelToJson(const Model& model) {
  std::string text = "{";
  writeList(text, "boxes", model.boxes());
  writeList(text, "nodes", model.nodes());
  writeList(text, "links", model.links());
  writeList(text, "notes", model.notes());
  writeHeader(text, model.header());
  return text + "}";
}

Result<Patch> patchFromJson(std::string_view text, const Model& model) {
  const auto broken = [] {
    return Error{ErrorCode::badInput, "a step of the journal cannot be read", "the steps before it can be recovered"};
  };
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  constexpr std::size_t kMaxValues = 60'000'000;
  const auto root = io::parseExactJson(text, "", {.bytes = kMaxBytes, .values = kMaxValues});
  if (!root || root->kind != JsonValue::Kind::object) {
    return broken();
  }
  Patch patch;
  if (!readList(*root, "boxes", model.boxes(), patch.boxes) || !readList(*root, "nodes", model.nodes(), patch.nodes) ||
      !readList(*root, "links", model.links(), patch.links) || !readList(*root, "notes", model.notes(), patch.notes)) {
    return broken();
  }
  if (const JsonValue* header = root->find("header")) {
    Header after;
    Reader reader(header->items);
    fields(reader, after);
    if (!reader.isGood()) {
      return broken();
    }
    if (after != model.header()) {
      patch.header = HeaderSwap{model.header(), std::move(after)};
    }
  }
  return patch;
}

}  // namespace coppice::designer
