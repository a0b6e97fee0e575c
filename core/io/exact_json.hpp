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

/// A member of the top object that is an array of arrays of whole numbers, too long to keep as values: its rows go to a
/// function one by one, and the value that is kept is empty.
struct JsonRows {
  std::string key;
  std::size_t maxRows = 0;
  /// What is wrong with a row, if anything: badInput at its place. @param index from 0
  std::function<std::optional<Error>(std::size_t index, std::span<const std::int64_t> numbers)> onRow;
};

/// Strict JSON (RFC 8259), parsed without recursion. Errors: badInput (syntax, repeated keys, invalid UTF-8) with line
/// and column; limit.
/// @param rows members that are not kept; they must outlive the call
Result<JsonValue> parseExactJson(std::string_view text, const std::string& fileName, const JsonLimits& limits = {},
                                 std::span<const JsonRows> rows = {});

/// On one line, without blanks. @pre depth as parseExactJson allows
[[nodiscard]] std::string toJsonText(const JsonValue& value);

/// A JSON string literal. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string jsonQuoted(std::string_view text);

}  // namespace coppice::io
