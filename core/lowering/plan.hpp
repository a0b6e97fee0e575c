// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "lowering/lowering.hpp"
#include "lowering/moves.hpp"

/// Internal to core/lowering: channels, threadblocks and the order of all messages of one instance.
namespace coppice::lowering {

/// One FIFO: (sender, receiver, channel).
struct Connection {
  int from = 0;
  int to = 0;
  int channel = 0;
  int sendBlock = -1;     ///< threadblock of `from` that owns the sending end
  int recvBlock = -1;     ///< threadblock of `to` that owns the receiving end
  std::int64_t load = 0;  ///< chunks
  int steps = 0;          ///< steps that either end runs for it, the larger number
};

struct BlockPlan {
  int sendConnection = -1;
  int recvConnection = -1;
};

/// In which order a threadblock runs its steps.
enum class StepOrder {
  /// That in which a greedy run would execute them. It pipelines best, but is only known to be free of deadlock after
  /// proveProgress.
  asTheyCome,
  /// Chain after chain. A chain is a run of messages in which every rank between the first sender and the last
  /// receiver forwards with one fused step. It meets every threadblock at most once and stands after all chains it
  /// waits for. So the first unfinished chain can always finish, whatever the others do and however many messages a
  /// step becomes: no deadlock at any connection depth, in any iteration.
  chains,
  /// Step schedules: that of the schedule's steps.
  asScheduled
};

/// How to arrange the steps.
struct Style {
  /// GB/s per channel: decides how many channels a busy pair of ranks gets, nothing else.
  std::int64_t blockRate = 0;
  /// Pairs get several channels only while no rank has more threadblocks than this, over all instances.
  int blocks = 0;
  /// Forward in one step where a threadblock can.
  bool fuses = true;
  StepOrder order = StepOrder::asTheyCome;
};

/// The plan of one instance.
struct Plan {
  std::vector<int> connectionOf;  ///< by message; -1 for the unused numbers
  std::vector<int> next;          ///< by message: the one it is fused with at its receiver, -1 = none
  std::vector<int> previous;      ///< inverse of next
  std::vector<Connection> connections;
  std::vector<std::vector<BlockPlan>> blocks;  ///< by rank
  std::vector<int> firstBlock;                 ///< by rank: threadblocks of the ranks before; one more at the end
  std::vector<int> heads;                      ///< messages that start a chain
  int events = 0;                              ///< steps of all ranks but copies
  std::vector<Event> order;                    ///< every threadblock runs its steps in this order
  int channels = 1;

  /// Threadblocks counted over all ranks.
  [[nodiscard]] int sendBlockOf(const Move& move, int message) const {
    return firstBlock[move.from] + connections[connectionOf[message]].sendBlock;
  }
  [[nodiscard]] int recvBlockOf(const Move& move, int message) const {
    return firstBlock[move.to] + connections[connectionOf[message]].recvBlock;
  }
};

/// What a rank needs besides for copying its own chunks.
struct CopyNeed {
  int blocks = 0;
  int steps = 0;
};

/// All but the order. Errors: limit (channels, threadblocks of one rank, XML elements). Throws CancelledError.
Result<Plan> makePlan(const Moves& moves, const Options& options, const Style& style,
                      const std::vector<CopyNeed>& copies, const Progress& progress);

/// Threadblocks per rank up to which pairs may get more channels: an A100 runs them at once.
inline constexpr int kResidentBlocks = 108;
/// GB/s that one threadblock moves comfortably with the Simple protocol over NVLink. For estimates only.
inline constexpr int kBlockRate = 24;

}  // namespace coppice::lowering
