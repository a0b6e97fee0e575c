// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/throughput.hpp"

/// What `coppice-exec profile --json` writes: latency and bandwidth between ranks, fitted to measurements.
namespace coppice::io {

struct ProfiledPair {
  int from = 0;
  int to = 0;
  Microseconds latency{};
  Throughput bandwidth = {};
};

/// What a message costs with all ranks at once (profile --together): ranks share cores and memory.
struct SharedCost {
  Microseconds latency{};          ///< of a message of no bytes
  double microsecondsPerByte = 0;  ///< positive
};

struct Profile {
  std::string backend = {};
  std::string label = {};  ///< what its numbers mean where they say nothing about the fabric; else empty
  int ranks = 0;
  std::vector<ProfiledPair> pairs = {};  ///< empty only where all ranks were measured at once
  std::optional<SharedCost> together = {};
  Microseconds additionTime{};  ///< that a rank takes to add one byte to what it has; 0 = not measured
};

/// Errors: badInput (not such a text, a link without its numbers; the place is "links[3]" or "together"), limit.
[[nodiscard]] Result<Profile> readProfileJson(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
