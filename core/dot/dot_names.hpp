// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What reader and writer agree on.
namespace coppice::dot {

inline constexpr std::string_view kExtraPrefix = "extra:";    ///< before an extra key that means something by itself
inline constexpr std::string_view kJsonPrefix = "json:";      ///< before an extra value that is not a plain string
inline constexpr std::string_view kClustersKey = "clusters";  ///< extra key: attributes of the boxes' clusters
inline constexpr std::string_view kNameAttribute = "name";    ///< graph attribute: a name that DOT itself cannot hold
inline constexpr std::string_view kIdAttribute = "fabricId";  ///< node attribute: an id that DOT itself cannot hold
inline constexpr std::string_view kPositionExtra = "positionExtra";
inline constexpr std::string_view kOrder = "order";  ///< place in the fabric's list, where DOT's order is another one

/// The shape the writer gives a kind; the reader does not keep it.
constexpr std::string_view shapeOf(std::string_view kind) {
  return kind == "gpu" ? "box" : (kind == "nic" ? "component" : "hexagon");
}

}  // namespace coppice::dot
