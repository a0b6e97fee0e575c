// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/servers.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace coppice::verify::plan_bounds {

Time nthTime(const std::vector<Time>& servers, std::size_t n) {
  if (n == 0) {
    return 0;
  }
  using Event = std::pair<Time, Time>;  // when a chunk has passed, and how long one takes there
  std::priority_queue<Event, std::vector<Event>, std::greater<>> next;
  for (const Time each : servers) {
    next.emplace(each, each);
  }
  while (!next.empty()) {
    const auto [time, each] = next.top();
    next.pop();
    if (--n == 0) {
      return time;
    }
    next.emplace(time + each, each);
  }
  return kNever;
}

Time timeFrom(std::vector<Time> ready, const std::vector<Time>& servers) {
  std::sort(ready.begin(), ready.end(), std::greater<>());
  Time best = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (i + 1 == ready.size() || ready[i + 1] != ready[i]) {
      best = std::max(best, ready[i] + nthTime(servers, i + 1));
    }
  }
  return best;
}

}  // namespace coppice::verify::plan_bounds
