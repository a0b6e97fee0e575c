// SPDX-License-Identifier: Apache-2.0
#include "io/xml_text.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::io {

pugi::xml_node XmlText::parse() {
  if (m_text.size() > m_format.maxBytes) {
    refuseAt(0, "the file is larger than " + std::to_string(m_format.maxBytes >> 20) + " MiB", m_format.give,
             ErrorCode::limit);
  }
  if (const std::size_t nul = m_text.find('\0'); nul != std::string_view::npos) {
    refuseAt(nul, "the file contains a zero byte", m_format.give);
  }
  if (const auto byte = firstIllFormedByte(m_text)) {
    refuseAt(*byte, "the file is not UTF-8 here", "convert it to UTF-8");
  }
  const pugi::xml_parse_result parsed =
      m_document.load_buffer(m_text.data(), m_text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (parsed.status == pugi::status_out_of_memory) {
    throw std::bad_alloc();
  }
  if (parsed.status == pugi::status_no_document_element) {
    refuseAt(0, "the file contains no XML element", m_format.give);
  }
  if (!parsed) {
    refuseAt(static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)),
             std::string("not well-formed XML: ") + parsed.description(), m_format.correct);
  }
  return m_document.document_element();
}

Place XmlText::placeOf(pugi::xml_node node) const {
  const std::ptrdiff_t offset = node.offset_debug();
  // pugixml points at the name; the tag begins one byte before.
  const std::size_t start = offset > 0 ? static_cast<std::size_t>(offset) - 1 : 0;
  return m_places.at(start, {RefKind::field, "<" + std::string(node.name()).substr(0, 32) + ">"});
}

void XmlText::refuse(pugi::xml_node node, std::string message, std::string fix, ErrorCode code) const {
  throw Failure{{code, std::move(message), std::move(fix), placeOf(node)}};
}

void XmlText::refuseAt(std::size_t offset, std::string message, std::string fix, ErrorCode code) const {
  throw Failure{{code, std::move(message), std::move(fix), m_places.at(offset)}};
}

std::optional<std::int64_t> XmlText::integer(pugi::xml_node node, const char* name) const {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) {
    return std::nullopt;
  }
  std::string_view text = attribute.value();
  const bool isHex = text.starts_with("0x");
  if (isHex) {
    text.remove_prefix(2);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, isHex ? 16 : 10);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    refuse(node, std::string("attribute ") + name + "=" + inQuotes(attribute.value()) + " is not a whole number",
           "write for example " + std::string(name) + "=\"1\"");
  }
  return value;
}

}  // namespace coppice::io
