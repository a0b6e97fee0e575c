// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/units.hpp"

/// What is known of methods without the list of them (generator.hpp).
namespace coppice::workflow {

/// The id of the method that is used where none is named.
inline constexpr const char* kDefaultMethod = "forestcoll";
/// Of ForestColl's height-effort.
inline constexpr int kMaxHeightEffort = 8;

/// algbw with a number of trees per root.
struct KValue {
  std::int64_t k = 0;
  Bandwidth algbw;
};

}  // namespace coppice::workflow
