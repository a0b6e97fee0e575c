// SPDX-License-Identifier: Apache-2.0
#include "synth/split.hpp"

#include <algorithm>
#include <vector>

#include "synth/sat.hpp"

namespace coppice::synth {
namespace {

constexpr std::int64_t kDealConflicts = 20'000;
constexpr std::int64_t kDealLiterals = 20'000'000;

/// Which sends of a step go into a first part of `first` rounds, the rest into one of `second`: in turn, as long as the
/// limits have room.
std::optional<std::vector<bool>> dealInTurn(const Topology& topology, const std::vector<Send>& sends,
                                            std::int64_t first, std::int64_t second) {
  std::vector<std::int64_t> roomFirst;
  std::vector<std::int64_t> roomSecond;
  for (int limit = 0; limit < static_cast<int>(topology.limits.size()); ++limit) {
    roomFirst.push_back(topology.capacity(limit, first));
    roomSecond.push_back(topology.capacity(limit, second));
  }
  std::vector<bool> isFirst;
  for (const Send& send : sends) {
    const auto& limits = topology.limitsOf[send.arc];
    const auto hasRoom = [&](const std::vector<std::int64_t>& room) {
      return std::all_of(limits.begin(), limits.end(), [&](int limit) { return room[limit] > 0; });
    };
    const bool fits = hasRoom(roomFirst);
    auto& room = fits ? roomFirst : roomSecond;
    if (!fits && !hasRoom(roomSecond)) {
      return std::nullopt;
    }
    for (const int limit : limits) {
      --room[limit];
    }
    isFirst.push_back(fits);
  }
  return isFirst;
}

/// The same by search, for limits that share sends.
std::optional<std::vector<bool>> dealBySearch(const Topology& topology, const std::vector<Send>& sends,
                                              std::int64_t first, std::int64_t second,
                                              const std::function<bool()>& stop) try {
  SatSolver solver(0);
  Clauses clauses(solver, {stop, kDealLiterals});
  std::vector<std::vector<int>> over(topology.limits.size());
  std::vector<int> choice;
  for (const Send& send : sends) {
    choice.push_back(clauses.fresh());
    for (const int limit : topology.limitsOf[send.arc]) {
      over[limit].push_back(choice.back());
    }
  }
  for (int limit = 0; limit < static_cast<int>(over.size()); ++limit) {
    for (const bool isFirst : {true, false}) {
      const std::int64_t room = topology.capacity(limit, isFirst ? first : second);
      if (static_cast<std::int64_t>(over[limit].size()) > room) {
        clauses.add({-clauses.counts(over[limit], room, false)[room]});
      }
      for (int& literal : over[limit]) {
        literal = -literal;
      }
    }
  }
  if (solver.solve(kDealConflicts, stop) != Verdict::sat) {
    return std::nullopt;
  }
  std::vector<bool> isFirst;
  for (const int variable : choice) {
    isFirst.push_back(solver.value(variable));
  }
  return isFirst;
} catch (const EncodingStopped&) {
  return std::nullopt;
}

bool splitOnce(const Problem& problem, Steps& schedule, const std::function<bool()>& stop) {
  const auto largest = std::max_element(schedule.rounds.begin(), schedule.rounds.end());
  const auto step = static_cast<int>(largest - schedule.rounds.begin());
  if (*largest < 2) {
    return false;
  }
  const std::int64_t first = (*largest + 1) / 2;
  const std::int64_t second = *largest - first;
  std::vector<Send> sends;
  for (const Send& send : schedule.sends) {
    if (send.step == step) {
      sends.push_back(send);
    }
  }
  auto isFirst = dealInTurn(problem.topology, sends, first, second);
  if (!isFirst) {
    isFirst = dealBySearch(problem.topology, sends, first, second, stop);
  }
  if (!isFirst) {
    return false;
  }
  std::size_t next = 0;
  for (Send& send : schedule.sends) {
    if (send.step > step || (send.step == step && !(*isFirst)[next++])) {
      ++send.step;
    }
  }
  *largest = first;
  schedule.rounds.insert(schedule.rounds.begin() + step + 1, second);
  return true;
}

}  // namespace

std::optional<Steps> split(const Problem& problem, std::int64_t n, const Steps& schedule, int steps,
                           const std::function<bool()>& stop) {
  Steps result = schedule;
  while (static_cast<int>(result.rounds.size()) < steps) {
    if (stop() || !splitOnce(problem, result, stop)) {
      return std::nullopt;
    }
  }
  prune(problem, n, result);
  return result;
}

}  // namespace coppice::synth
