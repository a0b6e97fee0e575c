// SPDX-License-Identifier: Apache-2.0
#include "io/json_text.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace coppice::io {

JsonFault jsonFault(std::string_view text, std::size_t bytesRead, std::string_view token, int exceptionId) {
  constexpr int kOutOfRange = 406;  // nlohmann's number for a number that no double holds
  JsonFault fault;
  fault.offset = std::min(bytesRead == 0 ? 0 : bytesRead - 1, text.size());
  if (exceptionId == kOutOfRange) {
    fault.isNumberTooLarge = true;
    fault.message = inQuotes(token) + " is too large a number";
  } else if (bytesRead > text.size()) {
    fault.message = "not valid JSON: the text ends too early";  // the parser has read the end as well
  } else {
    const std::size_t length = std::max<std::size_t>(utf8SequenceLength(text, fault.offset), 1);
    fault.message = "not valid JSON: unexpected " + inQuotes(text.substr(fault.offset, length));
  }
  return fault;
}

}  // namespace coppice::io
