// SPDX-License-Identifier: Apache-2.0
#include "io/text_place.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace coppice::io {

TextPlaces::TextPlaces(std::string_view text, std::string fileName)
    : m_fileName(std::move(fileName)), m_size(text.size()), m_lineStarts{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      m_lineStarts.push_back(i + 1);
    }
  }
}

Place TextPlaces::at(std::size_t offset, const ElementRef& element) const {
  offset = std::min(offset, m_size);
  const auto after = std::upper_bound(m_lineStarts.begin(), m_lineStarts.end(), offset);
  const auto line = static_cast<std::size_t>(after - m_lineStarts.begin());
  return {m_fileName, static_cast<int>(line), static_cast<int>(offset - m_lineStarts[line - 1]) + 1, element};
}

std::optional<std::size_t> firstIllFormedByte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8SequenceLength(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace coppice::io
