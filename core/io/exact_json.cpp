// SPDX-License-Identifier: Apache-2.0
#include "io/exact_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/text.hpp"
#include "io/json_text.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

class Collector : public nlohmann::json_sax<nlohmann::json> {
public:
  Collector(std::string_view text, const JsonLimits& limits, const TextPlaces& places, std::span<const JsonRows> rows,
            std::span<JsonSlice> slices)
      : m_text(text), m_limits(limits), m_places(places), m_allRows(rows), m_slices(slices) {}

  bool parse() { return parseJson(m_text, m_reached, *this); }

  bool null() override { return add({JsonValue::Kind::null}); }
  bool boolean(bool value) override { return add({JsonValue::Kind::boolean, value ? "true" : "false"}); }
  bool number_integer(number_integer_t value) override {
    if (m_rowState == RowState::inRow) {
      m_row.push_back(value);
      return true;
    }
    return add({JsonValue::Kind::number, std::to_string(value)});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (m_rowState == RowState::inRow &&
        value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      m_row.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    return add({JsonValue::Kind::number, std::to_string(value)});
  }
  bool number_float(number_float_t, const string_t& text) override { return add({JsonValue::Kind::number, text}); }
  bool string(string_t& value) override { return add({JsonValue::Kind::string, std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t) override {
    if (m_rowState == RowState::inRows) {
      m_rowState = RowState::inRow;
      m_row.clear();
      return true;
    }
    if (!open(JsonValue::Kind::array)) {
      return false;
    }
    if (m_slice != nullptr || m_allRows.empty()) {
      return true;
    }
    const std::string path = pathHere(false);
    const auto rows =
        std::find_if(m_allRows.begin(), m_allRows.end(), [&](const JsonRows& each) { return each.path == path; });
    if (rows != m_allRows.end()) {
      m_rows = &*rows;
      m_rowCount = 0;
      m_rowState = RowState::inRows;
    }
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override {
    if (m_rowState == RowState::inRow) {
      return endRow();
    }
    if (m_rowState == RowState::inRows) {
      m_stack.back().value.text = std::to_string(m_rowCount);
    }
    m_rowState = RowState::none;
    return close();
  }
  bool key(string_t& value) override {
    if (m_sliceDepth > 0) {
      return true;
    }
    if (m_stack.size() == 1) {
      const auto slice =
          std::find_if(m_slices.begin(), m_slices.end(), [&](const JsonSlice& each) { return each.key == value; });
      m_slice = slice != m_slices.end() ? &*slice : nullptr;
    }
    if (!m_stack.back().keys.insert(value).second) {
      return fail(ErrorCode::badInput, "key " + inQuotes(value) + " appears twice in one object", "remove one of them");
    }
    m_stack.back().value.members.emplace_back(std::move(value), JsonValue{});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last,
                   const nlohmann::detail::exception& exception) override {
    if (!error) {
      JsonFault fault = jsonFault(m_text, position, last, exception.id);
      error = Error{fault.isNumberTooLarge ? ErrorCode::overflow : ErrorCode::badInput, std::move(fault.message),
                    fault.isNumberTooLarge ? "use fewer digits" : "correct the text here", m_places.at(fault.offset)};
    }
    return false;
  }

  std::optional<Error> error;
  JsonValue root;

private:
  struct Open {
    JsonValue value;
    std::unordered_set<std::string> keys;
  };

  bool fail(ErrorCode code, std::string message, std::string fix) {
    error = Error{code, std::move(message), std::move(fix), m_places.at(consumed())};
    return false;
  }

  bool endRow() {
    m_rowState = RowState::inRows;
    if (m_rowCount == m_rows->maxRows) {
      return fail(ErrorCode::limit, "more than " + std::to_string(m_rows->maxRows) + " " + keyOfRows(),
                  "split or shorten the file");
    }
    if (auto refused = m_rows->onRow(m_rowCount, m_row)) {
      refused->where = m_places.at(consumed(), rowName());
      error = std::move(refused);
      return false;
    }
    ++m_rowCount;
    return true;
  }

  /// Keys from the top on, joined by dots; `isExact`: with places in arrays.
  [[nodiscard]] std::string pathHere(bool isExact) const {
    std::string path;
    for (const Open& open : m_stack) {
      if (open.value.kind == JsonValue::Kind::object && !open.value.members.empty()) {
        path += (path.empty() ? "" : ".") + open.value.members.back().first;
      } else if (isExact && &open != &m_stack.back()) {
        path += "[" + std::to_string(open.value.items.size()) + "]";
      }
    }
    return path;
  }

  [[nodiscard]] ElementRef rowName() const {
    return {RefKind::field, pathHere(true) + "[" + std::to_string(m_rowCount) + "]"};
  }

  [[nodiscard]] std::string keyOfRows() const { return m_rows->path.substr(m_rows->path.rfind('.') + 1); }

  /// Among rows there is nothing but arrays of whole numbers.
  bool refuseInRows() {
    error = Error{ErrorCode::badInput, "it is not a row of whole numbers within 64 bits",
                  "write " + keyOfRows() + " as arrays of numbers", m_places.at(consumed(), rowName())};
    return false;
  }

  bool count() {
    if (m_rowState != RowState::none) {
      return refuseInRows();
    }
    return ++m_count <= m_limits.values ||
           fail(ErrorCode::limit, "more than " + std::to_string(m_limits.values) + " JSON values",
                "split or shorten the file");
  }

  bool add(JsonValue value) {
    if (m_sliceDepth > 0) {
      return true;
    }
    m_slice = nullptr;
    if (!count()) {
      return false;
    }
    value.offset = consumed();
    place(std::move(value));
    return true;
  }

  void place(JsonValue value) {
    if (m_stack.empty()) {
      root = std::move(value);
    } else if (m_stack.back().value.kind == JsonValue::Kind::array) {
      m_stack.back().value.items.push_back(std::move(value));
    } else {
      m_stack.back().value.members.back().second = std::move(value);
    }
  }

  bool open(JsonValue::Kind kind) {
    if (m_sliceDepth == 0 && !count()) {
      return false;
    }
    if (static_cast<int>(m_stack.size()) + m_sliceDepth >= m_limits.depth) {
      return fail(ErrorCode::limit, "JSON is nested more than " + std::to_string(m_limits.depth) + " deep",
                  "flatten the file");
    }
    if (m_slice != nullptr && ++m_sliceDepth > 1) {
      return true;
    }
    m_stack.push_back({});
    m_stack.back().value.kind = kind;
    m_stack.back().value.offset = consumed();
    return true;
  }

  bool close() {
    if (m_slice != nullptr) {
      if (--m_sliceDepth > 0) {
        return true;
      }
      m_slice->begin = m_stack.back().value.offset - 1;
      m_slice->end = consumed();
      m_slice = nullptr;
    }
    JsonValue value = std::move(m_stack.back().value);
    m_stack.pop_back();
    place(std::move(value));
    return true;
  }

  [[nodiscard]] std::size_t consumed() const { return static_cast<std::size_t>(m_reached - m_text.data()); }

  enum class RowState { none, inRows, inRow };

  std::string_view m_text;
  const JsonLimits& m_limits;
  const TextPlaces& m_places;
  std::span<const JsonRows> m_allRows;
  std::span<JsonSlice> m_slices;
  JsonSlice* m_slice = nullptr;      ///< of m_slices, that the value here belongs to
  int m_sliceDepth = 0;              ///< brackets open in it
  const JsonRows* m_rows = nullptr;  ///< of m_allRows, that is being read
  RowState m_rowState = RowState::none;
  std::vector<std::int64_t> m_row;
  std::size_t m_rowCount = 0;
  const char* m_reached = nullptr;
  std::vector<Open> m_stack;
  std::size_t m_count = 0;
};

void appendValue(std::string& out, const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      out += "null";
      break;
    case JsonValue::Kind::boolean:
    case JsonValue::Kind::number:
      out += value.text;
      break;
    case JsonValue::Kind::string:
      out += jsonQuoted(value.text);
      break;
    case JsonValue::Kind::array:
      out += '[';
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        out += i > 0 ? "," : "";
        appendValue(out, value.items[i]);
      }
      out += ']';
      break;
    case JsonValue::Kind::object:
      out += '{';
      for (std::size_t i = 0; i < value.members.size(); ++i) {
        out += (i > 0 ? "," : "") + jsonQuoted(value.members[i].first) + ":";
        appendValue(out, value.members[i].second);
      }
      out += '}';
      break;
  }
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

Result<JsonValue> parseExactJson(std::string_view text, const std::string& fileName, const JsonLimits& limits,
                                 std::span<const JsonRows> rows, std::span<JsonSlice> slices) {
  if (text.size() > limits.bytes) {
    return Error{ErrorCode::limit, "the text is larger than " + std::to_string(limits.bytes >> 20) + " MiB",
                 "give a smaller file", Place{fileName, 0, 0, {}}};
  }
  const TextPlaces places(text, fileName);
  Collector collector(text, limits, places, rows, slices);
  const bool isRead = collector.parse();
  if (!isRead || collector.error) {
    return collector.error.value_or(
        Error{ErrorCode::badInput, "not valid JSON", "correct the text", Place{fileName, 0, 0, {}}});
  }
  return std::move(collector.root);
}

std::string toJsonText(const JsonValue& value) {
  std::string out;
  appendValue(out, value);
  return out;
}

std::string jsonQuoted(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace coppice::io
