// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "lowering/moves.hpp"
#include "lowering/placement.hpp"
#include "schedule/step_schedule.hpp"

/// Internal to core/lowering: what a step schedule moves, and what waits for what, before any threadblock exists.
namespace coppice::lowering {

/// A run of chunks of one shard that always moves as one.
struct Item {
  std::int64_t shard = 0;
  int start = 0;  ///< chunk of the shard
  int count = 0;
};

/// Items that go from one rank to another in one step of the schedule.
struct StepMessage {
  int firstItem = 0;
  int items = 1;  ///< several only where they lie side by side at both ends
  int from = 0;
  int to = 0;
  int level = 0;  ///< step of the schedule; without steps, longest chain of transfers before it
  int count = 0;  ///< chunks
  std::uint32_t transfer = 0;
  bool reduces = false;
  /// At some rank, the item is sent and added to in one step (as where two ranks exchange their sums). The sum must
  /// wait for the sending, at both ends, so such items are sent by all before any receives them; a connection has to
  /// hold them meanwhile.
  bool isExchange = false;
  /// What it leaves at its receiver is sent on once and never looked at again.
  bool isPassedOn = false;
  int position = 0;  ///< among the reducing arrivals between two uses of the sum
  int arrivals = 1;  ///< their number
};

/// Waits of one message, each by the numbers of other messages.
struct StepWaits {
  std::vector<int> inputs;    ///< sending waits until these have arrived
  std::vector<int> arrivals;  ///< receiving waits until these have arrived: what it is added to or overwrites
  std::vector<int> sendings;  ///< receiving waits until these are sent: it overwrites what they read
};

/// All data movement of one instance of a step schedule.
struct StepWork {
  Collective collective = Collective::allgather;
  int gpuCount = 0;
  int root = -1;
  int chunks = 0;  ///< of each shard
  Bandwidth algbw;
  Placement placement;
  std::vector<Item> items = {};
  std::vector<StepMessage> messages = {};  ///< in an order in which they can happen; exchanged ones of an item in a row
  std::vector<StepWaits> waits = {};       ///< by message
  std::vector<Parity> parity = {};         ///< by message

  [[nodiscard]] std::int64_t cell(int item, int rank) const { return std::int64_t{item} * gpuCount + rank; }
};

/// @param schedule on the grid of the program: every shard is cut into schedule::exactGrid(schedule) chunks, or a
/// multiple (`chunks`); verified
/// @param max chunks of one message
/// Errors: limit (pieces that overlap too often), verification (cyclic order). Throws OverflowError, CancelledError.
[[nodiscard]] Result<StepWork> makeStepWork(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                            int chunks, int max, const Options& options, const Progress& progress);

/// A message of an exchange is held by its connection until the other ones are sent: this many chunks are.
[[nodiscard]] int chunksHeld(const Options& options);

}  // namespace coppice::lowering
