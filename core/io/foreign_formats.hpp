// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coppice::io {

/// A format that is known and not read.
struct ForeignFormat {
  std::string what;    ///< "GraphML", as a person calls it
  std::string advice;  ///< what to give instead
};

/// What a text that no reader takes looks like, by its beginning (1 MiB); nullopt where it looks like nothing known.
[[nodiscard]] std::optional<ForeignFormat> foreignFormat(std::string_view text);

/// Rows of numbers that may be a matrix: as many columns as rows, with or without a row of names and a column of names.
/// A list of links, or the numbers of another tool, is not.
[[nodiscard]] bool looksLikeTextMatrix(std::string_view text);

/// The text has a row of numbers, so that it may be a matrix with faults.
[[nodiscard]] bool hasRowOfNumbers(std::string_view text);

/// The first line names the ends of links ("source,target,bandwidth").
[[nodiscard]] bool namesEndsOfLinks(std::string_view text);

}  // namespace coppice::io
