// SPDX-License-Identifier: Apache-2.0
#include "taccl/stages.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "taccl/expansion.hpp"

namespace coppice::taccl {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<sketch::Message> messagesOf(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                        const std::vector<int>& order, const Timetable& times) {
  std::vector<sketch::Message> messages;
  std::vector<int> place(trees.size(), -1);  // by message of the timetable
  for (const int item : order) {
    int& at = place[times.message[item]];
    if (at < 0) {
      at = static_cast<int>(messages.size());
      messages.push_back({.link = graph.sends[trees[item]].link,
                          .chunks = {},
                          .start = Rational(times.start[item], problem.ticksPerUnit),
                          .end = Rational(times.end[item], problem.ticksPerUnit)});
    }
    messages[at].chunks.push_back(problem.chunks[problem.items[item].chunk]);
  }
  for (sketch::Message& message : messages) {
    std::sort(message.chunks.begin(), message.chunks.end());
  }
  sortMessages(messages);
  return messages;
}

}  // namespace

Result<Staged> runStages(const Problem& problem, Collective collective, int root, const StageOptions& options,
                         const Progress& progress) {
  const auto begin = Clock::now();
  const SendGraph graph = sendGraphOf(problem);
  auto routing = chooseRoutes(problem, graph, collective, root, options, options.seconds / 2, progress);
  if (!routing) {
    return routing.error();
  }
  routing->report.seconds = secondsSince(begin);

  const auto beginOrder = Clock::now();
  std::vector<int> order;
  try {
    order = orderSends(problem, graph, routing->trees, progress);
  } catch (const CancelledError&) {
    // The routes that there are become a schedule.
    order = orderSends(problem, graph, routing->trees, {});
  }
  StageReport ordering;
  ordering.stage = "ordering";
  ordering.status = "heuristic";
  const std::vector<char> isFirst(routing->trees.size(), 1);
  const auto single = timetableOf(problem, graph, routing->trees, order, isFirst);
  if (!single) {
    return Error{ErrorCode::internal, "the order of the sends contains a cycle", "please report this sketch"};
  }
  ordering.makespan = Rational(single->makespan, problem.ticksPerUnit);
  ordering.seconds = secondsSince(beginOrder);

  const auto beginTimes = Clock::now();
  const double left = std::max(1.0, options.seconds - secondsSince(begin));
  auto scheduling = scheduleSends(problem, graph, routing->trees, order, options, left, progress);
  if (!scheduling) {
    return scheduling.error();
  }
  scheduling->report.seconds = secondsSince(beginTimes);

  Staged staged;
  staged.messages = messagesOf(problem, graph, routing->trees, order, scheduling->times);
  staged.makespan = scheduling->times.makespan;
  staged.stages = {std::move(routing->report), std::move(ordering), std::move(scheduling->report)};
  staged.ignored = std::move(routing->ignored);
  return staged;
}

}  // namespace coppice::taccl
