// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>

namespace coppice {

/// The texts of the first items with commas between them, and how many there are beside these: "a, b and 3 more".
/// @param textOf takes an item, or is a member of it
template <typename Items, typename Text>
[[nodiscard]] std::string commaListOfFirst(std::size_t most, const Items& items, const Text& textOf) {
  std::string list;
  std::size_t listed = 0;
  for (const auto& item : items) {
    if (listed == most) {
      return list + " and " + std::to_string(std::size(items) - most) + " more";
    }
    list += listed == 0 ? "" : ", ";
    list += std::invoke(textOf, item);
    ++listed;
  }
  return list;
}

/// "a, b, c"
template <typename Items, typename Text>
[[nodiscard]] std::string commaList(const Items& items, const Text& textOf) {
  return commaListOfFirst(std::size(items), items, textOf);
}

template <typename Items>
[[nodiscard]] std::string commaList(const Items& items) {
  return commaList(items, [](const auto& item) { return item; });
}

}  // namespace coppice
