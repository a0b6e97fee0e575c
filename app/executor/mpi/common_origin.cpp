// SPDX-License-Identifier: Apache-2.0
#include "mpi/common_origin.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "mpi/record.hpp"

namespace coppice::executor {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// Every process gives a number; that of process 0 comes back.
Result<std::int64_t> exchange(MpiWorld& world, std::int64_t own) {
  std::string record;
  put(record, own);
  const auto all = world.gatherAll(record);
  if (!all) {
    return all.error();
  }
  std::string_view first = all->front();
  take(first, own);
  return own;
}

}  // namespace

/// Processes of one host read the same clock. Between hosts the difference is what a message seems to take one way,
/// less what it seems to take the other way, halved; the quickest of several messages counts in each direction.
Result<Clock::time_point> commonOrigin(MpiWorld& world) {
  constexpr int kRounds = 8;
  std::int64_t there = std::numeric_limits<std::int64_t>::max();  // from process 0 to here, by the two clocks
  std::int64_t back = there;
  for (int round = 0; round < kRounds && world.hosts() > 1; ++round) {
    if (const Outcome outcome = world.gate(); !outcome) {
      return outcome.error();
    }
    const std::int64_t left = nanoseconds();
    const auto leftFirst = exchange(world, left);
    const std::int64_t arrived = nanoseconds();
    const auto arrivedFirst = leftFirst ? exchange(world, arrived) : leftFirst;
    if (!arrivedFirst) {
      return arrivedFirst.error();
    }
    there = std::min(there, arrived - *leftFirst);
    back = std::min(back, *arrivedFirst - left);
  }
  const std::int64_t ahead = world.hosts() > 1 ? (there - back) / 2 : 0;  // this clock, before that of process 0
  const auto origin = exchange(world, nanoseconds());
  if (!origin) {
    return origin.error();
  }
  return Clock::time_point(std::chrono::nanoseconds(*origin + ahead));
}

}  // namespace coppice::executor
