// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "io/text_place.hpp"

namespace coppice::io {

/// The limit of a format, and what to do about a file that cannot be read.
struct XmlFormat {
  std::size_t maxBytes;
  std::string give;     ///< "give NCCL's topology file of one server"
  std::string correct;  ///< "correct the file, or dump it again"
};

/// An XML file with the places of its elements. Errors are thrown as Failure and name the place.
class XmlText {
public:
  XmlText(std::string_view text, const std::string& fileName, XmlFormat format)
      : m_text(text), m_places(text, fileName), m_format(std::move(format)) {}

  /// The root element. Errors: limit (too many bytes), badInput (zero byte, not UTF-8, not well-formed, no element).
  /// Throws std::bad_alloc.
  pugi::xml_node parse();
  [[nodiscard]] const pugi::xml_document& document() const { return m_document; }

  /// Where the element's tag begins.
  [[nodiscard]] Place placeOf(pugi::xml_node node) const;
  [[noreturn]] void refuse(pugi::xml_node node, std::string message, std::string fix,
                           ErrorCode code = ErrorCode::badInput) const;
  [[noreturn]] void refuseAt(std::size_t offset, std::string message, std::string fix,
                             ErrorCode code = ErrorCode::badInput) const;
  /// A whole number, also as "0x1f"; nullopt where the attribute is missing. Errors: badInput.
  [[nodiscard]] std::optional<std::int64_t> integer(pugi::xml_node node, const char* name) const;

private:
  std::string_view m_text;
  TextPlaces m_places;
  XmlFormat m_format;
  pugi::xml_document m_document;
};

}  // namespace coppice::io
