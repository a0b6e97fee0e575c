// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// What the readers of JSON share: nlohmann's SAX parser with the place that it has reached, and what is wrong with a
/// text that is not JSON.
namespace coppice::io {

/// Feeds the parser and notes how far it has read, which its events do not say.
class JsonCursor {
public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonCursor(const char* position, const char** reached) : m_position(position), m_reached(reached) {}
  reference operator*() const { return *m_position; }
  JsonCursor& operator++() {
    *m_reached = ++m_position;
    return *this;
  }
  JsonCursor operator++(int) {
    JsonCursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const JsonCursor& a, const JsonCursor& b) { return a.m_position == b.m_position; }

private:
  const char* m_position;
  const char** m_reached;
};

/// Runs the parser; false where it or the handler stops. @param handler as nlohmann::json_sax
/// @param reached points behind the last byte read while the handler is called
template <typename Handler>
bool parseJson(std::string_view text, const char*& reached, Handler& handler) {
  const char* const end = text.data() + text.size();
  reached = text.data();
  return nlohmann::json::sax_parse(JsonCursor(reached, &reached), JsonCursor(end, &reached), &handler);
}

/// What parse_error() of a handler is about.
struct JsonFault {
  bool isNumberTooLarge = false;
  std::string message;
  std::size_t offset = 0;  ///< of the byte at fault, at most the size of the text
};

/// @param bytesRead, token, exceptionId as the handler gets them
[[nodiscard]] JsonFault jsonFault(std::string_view text, std::size_t bytesRead, std::string_view token,
                                  int exceptionId);

}  // namespace coppice::io
