// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"

/// The `.fabric.json` format (resources/schema/fabric.schema.json).
namespace coppice::io {

/// Sizes beyond which a fabric file is refused: they bound the memory that a hostile file can take.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxFabricNodes = std::size_t{1} << 18;
inline constexpr std::size_t kMaxFabricLinks = std::size_t{1} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;

/// Reads the format and nothing but the format: a key that is missing, of the wrong type or there twice, ill-formed
/// JSON or UTF-8 is an error with line and column (in characters, from 1) and the element (`nodes[3].kind`). Facts that
/// make no fabric (duplicate ids, dangling ends, bandwidth 0) load, for fabric::validate to list. Numbers are kept as
/// written, so nothing is rounded. Keys that the format does not know are kept in `extra`, in their order.
/// `fileName` is for messages only. Errors: badInput, overflow (a number no double can hold), limit.
Result<fabric::Description> readFabricJson(std::string_view text, std::string fileName = {});

/// The text of a description, one node or link a line. Equal descriptions give equal bytes, and reading the text gives
/// an equal description, except for what JSON cannot say: bytes that are not UTF-8 become U+FFFD, a position that is
/// not finite is left out, and so is an `extra` that is not the text of a JSON object, or a key of it that the format
/// itself has. Bandwidths and latencies are JSON numbers where their text is one, else strings.
std::string writeFabricJson(const fabric::Description& description);

}  // namespace coppice::io
