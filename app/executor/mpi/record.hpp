// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Records that processes of one build send each other.
namespace coppice::executor {

template <typename Item>
void put(std::string& record, const Item& item) {
  record.append(reinterpret_cast<const char*>(&item), sizeof(item));
}
/// Takes an item off the front. @return false where there is none
template <typename Item>
bool take(std::string_view& record, Item& item) {
  if (record.size() < sizeof(item)) {
    return false;
  }
  std::memcpy(&item, record.data(), sizeof(item));
  record.remove_prefix(sizeof(item));
  return true;
}
inline void putText(std::string& record, const std::string& item) {
  put(record, static_cast<std::uint64_t>(item.size()));
  record += item;
}
inline bool takeText(std::string_view& record, std::string& item) {
  std::uint64_t size = 0;
  if (!take(record, size) || size > record.size()) {
    return false;
  }
  item = record.substr(0, size);
  record.remove_prefix(size);
  return true;
}

}  // namespace coppice::executor
