// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace coppice::io {

/// A JSON value whose numbers keep their text: 0.1 stays 0.1, and 12345678901234567890 stays exact.
struct JsonValue {
  enum class Kind { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  std::string text = {};  ///< number: as written; string: its value; boolean: "true" or "false"
  std::vector<JsonValue> items = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};  ///< in order, keys unique
  std::size_t offset = 0;  ///< byte just after the value's first token, for messages

  /// Member of an object, or nullptr.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = 8000000;
  int depth = 64;
};

/// Arrays of arrays of whole numbers, too long to keep as values: their rows go to a function one by one. The value
/// that is kept has no items; its text is the number of rows.
struct JsonRows {
  std::string path;         ///< keys from the top object on, as in "forest.trees.edges"; arrays on the way do not count
  std::size_t maxRows = 0;  ///< of one array
  /// What is wrong with a row, if anything: badInput at its place. @param index from 0 in each array
  std::function<std::optional<Error>(std::size_t index, std::span<const std::int64_t> numbers)> onRow;
};

/// A member of the top object whose content is read later, from the text: its value is kept without items and members.
struct JsonSlice {
  std::string key;
  std::size_t begin = 0;  ///< of its text; both are 0 where the member is missing, or no object or array
  std::size_t end = 0;
};

/// Strict JSON (RFC 8259), parsed without recursion. Errors: badInput (syntax, repeated keys, invalid UTF-8) with line
/// and column; limit.
/// @param rows arrays that are not kept
/// @param slices members that are not kept; where they are is filled in
Result<JsonValue> parseExactJson(std::string_view text, const std::string& fileName, const JsonLimits& limits = {},
                                 std::span<const JsonRows> rows = {}, std::span<JsonSlice> slices = {});

/// On one line, without blanks. @pre depth as parseExactJson allows
[[nodiscard]] std::string toJsonText(const JsonValue& value);

/// A JSON string literal. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string jsonQuoted(std::string_view text);

}  // namespace coppice::io
