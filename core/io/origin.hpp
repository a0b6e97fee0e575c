// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "io/exact_json.hpp"

namespace coppice::io {

/// By which method a schedule was made, as its file says: {"method": "forestcoll", "options": {"max-height": "6"}}.
/// For people, and to ask for the same again: nothing checks it, and the method may be none that is known here.
struct Origin {
  std::string method = {};                          ///< its id; empty = not known
  std::map<std::string, std::string> options = {};  ///< as on the command line, "true" for a flag

  friend bool operator==(const Origin&, const Origin&) = default;
};

inline constexpr const char* kOriginKey = "made_by";
/// Bytes of the id of a method and of the name of an option.
inline constexpr std::size_t kMaxOriginName = 64;
/// Bytes of a value, which may be a whole sketch or table.
inline constexpr std::size_t kMaxOriginValue = std::size_t{1} << 20;
inline constexpr std::size_t kMaxOriginOptions = 64;

/// On one line. Options that are longer than a reader allows are left out. @pre a method
[[nodiscard]] std::string originJson(const Origin& origin);

/// @param refuse does not return: throws what is wrong with the value, whose path in the file is given
[[nodiscard]] Origin readOrigin(const JsonValue& value,
                                const std::function<void(const JsonValue& at, const std::string& path,
                                                         std::string message, std::string fix)>& refuse);

}  // namespace coppice::io
