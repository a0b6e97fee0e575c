// SPDX-License-Identifier: Apache-2.0
#include "lowering/step_moves.hpp"

#include <algorithm>

#include "lowering/order.hpp"
#include "lowering/sums.hpp"

namespace coppice::lowering {

namespace {

/// The only message that brings what this one sends, in one piece; -1 = there is none.
int bringerOf(const StepWork& work, int message) {
  const std::vector<int>& inputs = work.waits[message].inputs;
  if (inputs.size() != 1) {
    return -1;
  }
  const StepMessage& mine = work.messages[message];
  const StepMessage& brought = work.messages[inputs.front()];
  return brought.firstItem == mine.firstItem && brought.items == mine.items ? inputs.front() : -1;
}

int stepsToReceive(const StepMessage& message, const StepWaits& waits, bool splitsReduce) {
  const int before = static_cast<int>(waits.arrivals.size() + waits.sendings.size());
  if (!splitsReduce || !message.reduces) {
    return std::max(1, before);
  }
  // A sum that is there already may take a copy (see StepEmitter::mustReadAgain).
  return stepsOfArrival(message.position, message.arrivals) + static_cast<int>(waits.sendings.size()) +
         (waits.arrivals.empty() ? 0 : 1);
}

void estimateTimes(const StepWork& work, Moves& made) {
  for (std::size_t m = 0; m < work.messages.size(); ++m) {
    std::int64_t start = 0;
    for (const std::vector<int>* const list : {&work.waits[m].inputs, &work.waits[m].arrivals}) {
      for (const int before : *list) {
        start = std::max(start, made.moves[before].time);
      }
    }
    made.moves[m].time = start + made.moves[m].count;
  }
}

/// Rank of every event where the order is that of the schedule: messages one by one, but what is exchanged is sent by
/// all before anyone receives it.
std::vector<std::int64_t> scheduledOrder(const StepWork& work) {
  std::vector<std::int64_t> rank(2 * work.messages.size(), 0);
  const int messages = static_cast<int>(work.messages.size());
  std::int64_t next = 0;
  for (int first = 0; first < messages;) {
    const StepMessage& message = work.messages[first];
    int last = first + 1;
    while (message.isExchange && last < messages && work.messages[last].isExchange &&
           work.messages[last].level == message.level && work.messages[last].firstItem == message.firstItem) {
      ++last;
    }
    for (const bool receives : {false, true}) {
      for (int m = first; m < last; ++m) {
        rank[idOf({m, receives})] = next++;
      }
    }
    first = last;
  }
  return rank;
}

Waits waitsOf(const StepWork& work, const Plan& plan) {
  const std::size_t messages = work.messages.size();
  Waits waits;
  waits.remaining.assign(messages, 0);
  waits.passed.assign(messages, 0);
  const auto startOf = [&](int message) {
    return plan.previous[message] >= 0 ? idOf({plan.previous[message], true}) : idOf({message, false});
  };
  const auto add = [&](int event, int waiting) {
    if (event != waiting) {
      waits.pairs.emplace_back(event, waiting);
    }
  };
  for (std::size_t i = messages; i-- > 0;) {
    const int m = static_cast<int>(i);
    for (const int before : work.waits[m].inputs) {
      add(idOf({before, true}), startOf(m));
      waits.remaining[before] = std::max(waits.remaining[before], waits.remaining[m] + 1);
    }
    for (const int before : work.waits[m].arrivals) {
      add(idOf({before, true}), idOf({m, true}));
    }
    for (const int before : work.waits[m].sendings) {
      add(startOf(before), idOf({m, true}));
    }
  }
  std::sort(waits.pairs.begin(), waits.pairs.end());
  waits.pairs.erase(std::unique(waits.pairs.begin(), waits.pairs.end()), waits.pairs.end());
  return waits;
}

}  // namespace

Moves movesOf(const StepWork& work, const Options& options) {
  const bool splitsReduce = program::isRccl(options.runtime);
  Moves made;
  made.gpuCount = work.gpuCount;
  made.phases = work.collective == Collective::allreduce ? 2 : 1;
  made.chunks = work.placement.chunksOfAll();
  made.algbw = work.algbw;
  made.fix = std::string(options.instances > 1 ? "use fewer instances, " : "use ") +
             "fewer chunks, or a schedule with fewer peers or GPUs";
  made.moves.reserve(work.messages.size());
  for (int m = 0; m < static_cast<int>(work.messages.size()); ++m) {
    const StepMessage& message = work.messages[m];
    const StepWaits& waits = work.waits[m];
    const int bringer = message.isExchange ? -1 : bringerOf(work, m);
    const bool isFusible = bringer >= 0 && !work.messages[bringer].isExchange;
    if (isFusible) {
      made.fusible.push_back({bringer, m});
    }
    made.moves.push_back({.from = message.from,
                          .to = message.to,
                          .count = message.count,
                          .parity = work.parity[m],
                          .phase = made.phases == 2 && !message.reduces ? 1 : 0,
                          .receiveSteps = stepsToReceive(message, waits, splitsReduce),
                          .sendSteps = std::max(1, static_cast<int>(waits.inputs.size())),
                          .neighbour = isFusible ? bringer : -1});
    made.order.push_back(m);
  }
  estimateTimes(work, made);
  return made;
}

Outcome orderSteps(const StepWork& work, const Moves& moves, const Options& options, const Style& style, Plan& plan,
                   const Progress& progress) {
  const Waits waits = waitsOf(work, plan);
  if (style.order == StepOrder::chains) {
    plan.order = orderOfChains(moves, plan, waits, progress);
  } else {
    RunStyle run;
    if (style.order == StepOrder::asScheduled) {
      run.rank = scheduledOrder(work);
    }
    plan.order = greedyRun(moves, plan, waits, run, options, progress);
  }
  if (static_cast<int>(plan.order.size()) != plan.events) {
    return Error{ErrorCode::infeasible, "the steps wait for each other in this order", {}, {}};
  }
  return Done{};
}

}  // namespace coppice::lowering
