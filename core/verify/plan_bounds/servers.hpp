// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace coppice::verify::plan_bounds {

using Time = std::int64_t;

inline constexpr Time kNever = std::numeric_limits<Time>::max() / 8;

/// Takes messages one after another: each `alpha`, and `beta` for each of up to `max` chunks.
struct Server {
  Time alpha = 0;
  Time beta = 0;
  int max = 1;
};

/// Takes chunks one after the other from some time on.
struct TimedServer {
  Time begin = kNever;
  Time each = kNever;
};

/// The earliest time at which the n-th chunk has passed one of the servers, each of which takes its time for a chunk.
[[nodiscard]] Time nthTime(const std::vector<Time>& servers, std::size_t n);

/// The same where the chunks are there from the given times on: some k last ones are all taken after the first of them.
[[nodiscard]] Time timeFrom(std::vector<Time> ready, const std::vector<Time>& servers);

}  // namespace coppice::verify::plan_bounds
