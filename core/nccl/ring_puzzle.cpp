// SPDX-License-Identifier: Apache-2.0
#include "nccl/ring_puzzle.hpp"

#include <algorithm>
#include <cstddef>

namespace coppice::nccl {
namespace {

constexpr std::size_t kMaxSteps = 1 << 20;

}  // namespace

std::optional<std::vector<int>> cycleOf(const std::vector<int>& next) {
  std::vector<int> ranks;
  int at = 0;
  do {
    if (at < 0 || at >= static_cast<int>(next.size()) || ranks.size() == next.size()) {
      return std::nullopt;
    }
    ranks.push_back(at);
    at = next[at];
  } while (at != 0);
  return ranks.size() == next.size() ? std::optional(ranks) : std::nullopt;
}

std::optional<std::vector<int>> solveRing(const RingFacts& facts) {
  const auto count = static_cast<int>(facts.next.size());
  if (count == 0) {
    return std::nullopt;
  }
  // Who is known to follow someone follows nobody else.
  std::vector<bool> isTaken(facts.next.size(), false);
  std::vector<int> likeliest = facts.next;
  for (std::size_t rank = 0; rank < facts.next.size(); ++rank) {
    const int next = facts.next[rank];
    if (next >= 0) {
      if (next >= count || isTaken[next]) {
        return std::nullopt;
      }
      isTaken[next] = true;
    } else if (!facts.candidates[rank].empty()) {
      likeliest[rank] = facts.candidates[rank].front();
    }
  }
  if (auto ring = cycleOf(likeliest)) {
    return ring;
  }
  std::optional<std::vector<int>> found;
  std::vector<int> path{0};
  std::vector<std::size_t> tried{0};
  std::vector<bool> isVisited(facts.next.size(), false);
  isVisited[0] = true;
  std::size_t steps = 0;
  for (; !path.empty() && steps < kMaxSteps; ++steps) {
    const int at = path.back();
    const bool isFull = static_cast<int>(path.size()) == count;
    std::size_t& index = tried.back();
    int next = -1;
    if (facts.next[at] >= 0) {
      next = index == 0 ? facts.next[at] : -1;
      ++index;
    } else {
      const std::vector<int>& candidates = facts.candidates[at];
      while (index < candidates.size() && next < 0) {
        const int candidate = candidates[index++];
        next = candidate >= 0 && candidate < count && !isTaken[candidate] ? candidate : -1;
      }
    }
    if (next >= 0 && isFull && next == 0) {
      if (found) {
        return std::nullopt;
      }
      found = path;
    } else if (next >= 0 && !isFull && !isVisited[next]) {
      path.push_back(next);
      tried.push_back(0);
      isVisited[next] = true;
    } else if (next < 0) {
      isVisited[at] = false;
      path.pop_back();
      tried.pop_back();
    }
  }
  return steps < kMaxSteps ? found : std::nullopt;
}

}  // namespace coppice::nccl
