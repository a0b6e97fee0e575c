// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace coppice::io {

/// Turns a byte offset of a text into file, line and column (in bytes).
class TextPlaces {
public:
  TextPlaces(std::string_view text, std::string fileName);
  /// Offsets past the end give the end.
  [[nodiscard]] Place at(std::size_t offset, const ElementRef& element = {}) const;

private:
  std::string m_fileName;
  std::size_t m_size;
  std::vector<std::size_t> m_lineStarts;
};

/// Offset of the first byte that is not well-formed UTF-8.
[[nodiscard]] std::optional<std::size_t> firstIllFormedByte(std::string_view text);

}  // namespace coppice::io
