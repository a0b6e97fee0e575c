// SPDX-License-Identifier: Apache-2.0
#include "verify/program_deadlock.hpp"

#include <algorithm>
#include <limits>

#include "verify/program_messages.hpp"

namespace coppice::verify {
namespace {

constexpr std::size_t kMaxLinks = 12;  // links of a cycle that are written out
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

struct Ignore {
  void operator()(const Event& /*event*/) const {}
};

/// The threadblock that a stopped one waits for; it has stopped too.
int blockerOf(const FlatProgram& flat, int block, const BlockState& state) {
  const FlatBlock& owner = flat.blocks[block];
  switch (state.obstacle) {
    case Obstacle::dependency:
      return flat.steps[state.step].waitsForBlock;
    case Obstacle::message:
      return flat.connections[owner.recvConnection].sender;
    case Obstacle::space:
      return flat.connections[owner.sendConnection].receiver;
    case Obstacle::none:
      break;
  }
  return -1;
}

std::vector<int> findCycle(const FlatProgram& flat, const std::vector<BlockState>& states) {
  const auto stopped = std::find_if(states.begin(), states.end(),
                                    [](const BlockState& state) { return state.obstacle != Obstacle::none; });
  std::vector<int> chain;
  std::vector<char> seen(states.size(), 0);
  for (int block = static_cast<int>(stopped - states.begin()); block >= 0;
       block = blockerOf(flat, block, states[block])) {
    if (seen[block] != 0) {
      chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), block));
      break;
    }
    seen[block] = 1;
    chain.push_back(block);
  }
  return chain;
}

std::string describeCycle(const program::Program& program, const FlatProgram& flat,
                          const std::vector<BlockState>& states, const std::vector<int>& cycle) {
  std::string text;
  for (std::size_t link = 0; link < cycle.size() && link < kMaxLinks; ++link) {
    const BlockState& state = states[cycle[link]];
    text += nameOperation(program, flat, cycle[link], state.step) + (link == 0 ? " waits" : ", which waits");
    text += state.obstacle == Obstacle::dependency ? " for the flag of "
            : state.obstacle == Obstacle::message  ? " for data from "
                                                   : " for space in its connection to ";
  }
  if (cycle.size() > kMaxLinks) {
    return text + std::to_string(cycle.size() - kMaxLinks) +
           " more threadblocks, the last of which waits for the first";
  }
  const int first = cycle.front();
  return text + toText(stepElement(flat, first, states[first].step));
}

std::int64_t messagesOf(const FlatStep& step, int chunksPerMessage) {
  return step.exchanges ? (step.count + chunksPerMessage - 1) / chunksPerMessage : 0;
}

/// Messages that a threadblock has sent (or taken) where it stands.
std::int64_t movedBy(const FlatProgram& flat, int block, const BlockState& state, int chunksPerMessage,
                     bool (*moves)(program::StepType)) {
  std::int64_t moved = 0;
  for (auto step = flat.blocks[block].firstStep; step < state.step; ++step) {
    moved += moves(flat.steps[step].type) ? messagesOf(flat.steps[step], chunksPerMessage) : 0;
  }
  return moved + state.chunk / chunksPerMessage;
}

/// The step of a threadblock that sends (or takes) the message with this number.
std::uint32_t stepOfMessage(const FlatProgram& flat, int block, std::int64_t message, int chunksPerMessage,
                            bool (*moves)(program::StepType)) {
  const FlatBlock& owner = flat.blocks[block];
  for (auto step = owner.firstStep; step < owner.endStep; ++step) {
    message -= moves(flat.steps[step].type) ? messagesOf(flat.steps[step], chunksPerMessage) : 0;
    if (message < 0) {
      return step;
    }
  }
  return owner.endStep - 1;
}

RingStep ringStep(const FlatProgram& flat, int block, const BlockState& state, std::uint32_t depth,
                  int chunksPerMessage) {
  const int next = blockerOf(flat, block, state);
  RingStep link{.place = placeOf(flat, block, state.step)};
  if (state.obstacle == Obstacle::dependency) {
    link.needs = placeOf(flat, next, flat.steps[state.step].waitsForStep);
  } else if (state.obstacle == Obstacle::message) {
    const std::int64_t message = movedBy(flat, block, state, chunksPerMessage, program::receives);
    link.reason = program::WaitReason::data;
    link.needs = placeOf(flat, next, stepOfMessage(flat, next, message, chunksPerMessage, program::sends));
  } else {
    const std::int64_t message = movedBy(flat, block, state, chunksPerMessage, program::sends) - depth;
    link.reason = program::WaitReason::space;
    link.needs = placeOf(flat, next, stepOfMessage(flat, next, message, chunksPerMessage, program::receives));
  }
  return link;
}

}  // namespace

Deadlock explainDeadlock(const program::Program& program, const FlatProgram& flat,
                         const std::vector<BlockState>& states, std::uint32_t depth, int chunksPerMessage,
                         const Progress& progress) {
  Ignore ignore;
  Deadlock deadlock;
  const auto tell = [&](const std::vector<BlockState>& stopped, std::uint32_t limit) {
    const std::vector<int> cycle = findCycle(flat, stopped);
    deadlock.cycle = describeCycle(program, flat, stopped, cycle);
    deadlock.place = stepElement(flat, cycle.front(), stopped[cycle.front()].step);
    for (const int block : cycle) {
      deadlock.ring.push_back(ringStep(flat, block, stopped[block], limit, chunksPerMessage));
    }
  };
  Execution unlimited(flat, kNoLimit, chunksPerMessage, ignore, progress);
  if (!unlimited.run()) {
    tell(unlimited.states(), kNoLimit);
    deadlock.remedy = "no connection depth helps; change the order of the steps";
    return deadlock;
  }
  tell(states, depth);
  std::uint64_t stops = depth;
  std::uint64_t runs = depth;
  for (bool found = false; !found;) {  // double, then halve
    runs = std::min<std::uint64_t>(runs * 2, kNoLimit);
    found = Execution(flat, static_cast<std::uint32_t>(runs), chunksPerMessage, ignore, progress).run();
    stops = found ? stops : runs;
  }
  while (runs - stops > 1) {
    const std::uint64_t middle = stops + (runs - stops) / 2;
    const bool finishes = Execution(flat, static_cast<std::uint32_t>(middle), chunksPerMessage, ignore, progress).run();
    (finishes ? runs : stops) = middle;
  }
  deadlock.remedy = "connections " + std::to_string(runs) + " messages deep would resolve it; this protocol has " +
                    std::to_string(depth);
  return deadlock;
}

std::optional<std::int64_t> windowThatFrees(const program::Program& program, const FlatProgram& flat,
                                            program::Runtime runtime, const Progress& progress) {
  const auto depth = static_cast<std::uint32_t>(program::connectionDepth(program.protocol));
  Ignore ignore;
  const auto finishes = [&](int chunks) { return Execution(flat, depth, chunks, ignore, progress).run(); };
  int stops = fullestMessage(program, runtime);
  int runs = program::limits(runtime).count;
  // What runs with a message runs with fuller ones, so the least that runs is found by halving.
  if (stops >= runs || !finishes(runs)) {
    return std::nullopt;
  }
  while (runs - stops > 1) {
    const int middle = stops + (runs - stops) / 2;
    (finishes(middle) ? runs : stops) = middle;
  }
  const std::int64_t window = largestWindow(program, runtime, runs);
  return window > program.minBytes ? std::optional(window) : std::nullopt;
}

}  // namespace coppice::verify
