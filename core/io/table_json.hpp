// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.hpp"
#include "base/result.hpp"

namespace coppice::io {

/// The text is JSON, not a table with separators.
[[nodiscard]] bool isJsonTable(std::string_view text);

/// A list of objects, alone or as the only list of an object, as the rows of a table: first a row of all keys, in the
/// order in which they come. Numbers keep their text; null and what an object lacks are empty fields. Errors: badInput
/// naming the line (no list of objects, a value that is a list or an object), those of parseExactJson.
[[nodiscard]] Result<std::vector<CsvRow>> readJsonTable(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
