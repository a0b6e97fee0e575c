// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

/// Internal to core/lowering: messages as the planner sees them, wherever they come from.
namespace coppice::lowering {

/// Channel parity that a route asks for.
enum class Parity : std::int8_t { any = 2, even = 0, odd = 1 };

/// One message: a run of chunks from one rank to another. Numbers that stand for no message have from = -1.
struct Move {
  int from = -1;
  int to = -1;
  int count = 0;  ///< chunks; 1 to the runtime's count limit
  Parity parity = Parity::any;
  int phase = 0;         ///< the halves of an allreduce are 0 and 1
  int receiveSteps = 1;  ///< steps at the receiving end, at most
  int sendSteps = 1;     ///< steps at the sending end, at most
  int neighbour = -1;    ///< a message, earlier in Moves::order, whose channel suits this one: then it can be forwarded
  std::int64_t time = 0;  ///< when it would be received if there were nothing else, one unit per chunk
};

/// A message that arrives at a rank and one that leaves it with the same data, and can be one step.
struct Fusible {
  int arriving = 0;
  int leaving = 0;
  /// Of all pairs with the same number, at most one is fused: a root sums everything up before it sends, so only one
  /// arrival, the last, can be the same step as a sending. -1 = no such group.
  int turn = -1;
};

/// All messages of one instance.
struct Moves {
  int gpuCount = 0;
  int phases = 1;
  std::int64_t chunks = 0;  ///< what the algbw counts
  Bandwidth algbw;          ///< for choosing the number of channels
  std::vector<Move> moves;  ///< by message
  std::vector<int> order;   ///< all messages, in the order in which they choose their channels
  std::vector<Fusible> fusible;
  std::string fix;  ///< what would make a program fit that is too large
};

/// What a rank does with one message: start it, or receive it (and pass it on in the same step where it is fused).
struct Event {
  int message = 0;
  bool receives = false;
};
/// Events by number: an arrival and a start of the same message are neighbours.
[[nodiscard]] constexpr int idOf(Event event) {
  return 2 * event.message + (event.receives ? 1 : 0);
}

}  // namespace coppice::lowering
