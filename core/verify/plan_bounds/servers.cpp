// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bounds/servers.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace coppice::verify::plan_bounds {

Time nthTime(const std::vector<Server>& servers, std::size_t n) {
  if (n == 0) {
    return 0;
  }
  using Event = std::tuple<Time, std::size_t, int>;  // time, server, which one of its batch
  std::priority_queue<Event, std::vector<Event>, std::greater<>> next;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    next.emplace(servers[i].alpha + servers[i].beta, i, 1);
  }
  while (!next.empty()) {
    const auto [time, server, place] = next.top();
    next.pop();
    if (--n == 0) {
      return time;
    }
    const Server& each = servers[server];
    const bool isLast = place == each.max;
    next.emplace(time + each.beta + (isLast ? each.alpha : 0), server, isLast ? 1 : place + 1);
  }
  return kNever;
}

Time timeFrom(std::vector<Time> ready, const std::vector<Server>& servers) {
  std::sort(ready.begin(), ready.end(), std::greater<>());
  Time best = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (i + 1 == ready.size() || ready[i + 1] != ready[i]) {
      best = std::max(best, ready[i] + nthTime(servers, i + 1));
    }
  }
  return best;
}

Time batched(std::vector<Time> ready, const Server& server) {
  std::sort(ready.begin(), ready.end());
  std::vector<Time> through = {0};
  for (std::size_t k = 1; k <= ready.size(); ++k) {
    Time best = kNever;
    Time start = 0;
    for (std::size_t size = 1; size <= k && size <= static_cast<std::size_t>(server.max); ++size) {
      start = std::max(ready[k - 1], through[k - size]);
      best = std::min(best, start + server.alpha + server.beta * static_cast<Time>(size));
    }
    through.push_back(best);
  }
  return through.back();
}

}  // namespace coppice::verify::plan_bounds
