// SPDX-License-Identifier: Apache-2.0
#include "io/table_json.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "io/exact_json.hpp"

namespace coppice::io {
namespace {

using Kind = JsonValue::Kind;

int lineAt(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

Error bad(const std::string& fileName, int line, std::string message, std::string fix) {
  return {ErrorCode::badInput, std::move(message), std::move(fix), {.file = fileName, .line = line}};
}

/// nullptr where there is none, or more than one.
const JsonValue* listIn(const JsonValue& whole) {
  if (whole.kind == Kind::array) {
    return &whole;
  }
  const JsonValue* list = nullptr;
  for (const auto& [key, value] : whole.members) {
    if (value.kind == Kind::array) {
      if (list != nullptr) {
        return nullptr;
      }
      list = &value;
    }
  }
  return list;
}

}  // namespace

bool isJsonTable(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '[' || text[first] == '{');
}

Result<std::vector<CsvRow>> readJsonTable(std::string_view text, const std::string& fileName) {
  const auto whole = parseExactJson(text, fileName);
  if (!whole) {
    return whole.error();
  }
  const JsonValue* list = listIn(*whole);
  if (list == nullptr) {
    return bad(fileName, 1, "there is no list of rows", "write [{\"name\": …}, …]");
  }
  std::vector<CsvRow> rows{{lineAt(text, list->offset), {}}};
  std::vector<std::string> keys;
  for (const JsonValue& item : list->items) {
    const int line = lineAt(text, item.offset);
    if (item.kind != Kind::object) {
      return bad(fileName, line, "an entry of the list is not an object", "write {\"name\": …} for each row");
    }
    CsvRow row{line, std::vector<std::string>(keys.size())};
    for (const auto& [key, value] : item.members) {
      if (value.kind == Kind::array || value.kind == Kind::object) {
        return bad(fileName, lineAt(text, value.offset), inQuotes(key) + " is not a number or a text",
                   "write one value");
      }
      const auto place = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (place == keys.size()) {
        keys.push_back(key);
        row.fields.emplace_back();
      }
      row.fields[place] = value.kind == Kind::null ? std::string() : value.text;
    }
    rows.push_back(std::move(row));
  }
  rows.front().fields = std::move(keys);
  return rows;
}

}  // namespace coppice::io
