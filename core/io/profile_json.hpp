// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// What `coppice-exec profile --json` writes: latency and bandwidth between ranks, fitted to measurements.
namespace coppice::io {

struct ProfiledPair {
  int from = 0;
  int to = 0;
  double latency = 0;    ///< us
  double bandwidth = 0;  ///< GB/s
};

struct Profile {
  std::string backend = {};
  std::string label = {};  ///< what its numbers mean where they say nothing about the fabric; else empty
  int ranks = 0;
  std::vector<ProfiledPair> pairs = {};  ///< never empty
};

/// Errors: badInput (not such a text, a link without its numbers; the place is "links[3]"), limit.
[[nodiscard]] Result<Profile> readProfileJson(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
