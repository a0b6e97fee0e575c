// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace coppice::verify::plan_bounds {

using Time = std::int64_t;

inline constexpr Time kNever = std::numeric_limits<Time>::max() / 8;

/// Takes chunks one after another: each `alpha` alone, then up to `max` of them `beta` apart, and again.
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

/// The earliest time at which the n-th chunk has passed, if all may be taken from the beginning.
[[nodiscard]] Time nthTime(const std::vector<Server>& servers, std::size_t n);

/// The same where the chunks are there from the given times on: some k last ones are all taken after the first of them.
[[nodiscard]] Time timeFrom(std::vector<Time> ready, const std::vector<Server>& servers);

/// One server in batches, exactly: the minimum time until the first k have passed, for ascending k.
[[nodiscard]] Time batched(std::vector<Time> ready, const Server& server);

}  // namespace coppice::verify::plan_bounds
