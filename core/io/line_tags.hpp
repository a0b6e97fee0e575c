// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What launchers and log collectors put before the lines of a program: "[1,3]<stdout>:", "3: ", time stamps, names of
/// pods. The shape of a tag leaves its numbers, and its words in brackets, open.
namespace coppice::io {

constexpr char kAnyNumber = '\x01';  ///< in a shape: any number
constexpr char kAnyWord = '\x02';    ///< any word in brackets that is not a number

/// "[\x02] " for "[rank3] ".
[[nodiscard]] std::string tagShape(std::string_view tag);

/// How much of the beginning of a text has this shape; 0 = it has another.
[[nodiscard]] std::size_t tagLength(std::string_view text, std::string_view shape);

/// The line without the tag at its beginning: of one of the shapes, or as mpirun makes it.
[[nodiscard]] std::string_view withoutLeadingTag(std::string_view line, const std::vector<std::string>& shapes);

/// Without the sequences by which terminals change colours.
[[nodiscard]] std::string withoutColours(std::string_view text);

}  // namespace coppice::io
