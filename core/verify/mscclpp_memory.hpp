// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mscclpp/execution_plan.hpp"
#include "verify/mscclpp_history.hpp"

/// Internal to the check of execution plans: who knows of what, and who touched which cell.
namespace coppice::verify {

/// What is known of the others: what has happened, and what of that can be read.
struct MscclppTimes {
  MscclppHistory::Moment seen = MscclppHistory::kNothing;   ///< with its writes: by release and acquire
  MscclppHistory::Moment ended = MscclppHistory::kNothing;  ///< by relaxed signals and the flags of packets too
};

/// One access to a cell.
struct MscclppAccess {
  std::int32_t actor = -1;     ///< -1 = none
  std::uint32_t epoch = 0;     ///< of the actor
  std::int32_t instance = -1;  ///< of the operation
  std::int32_t position = 0;   ///< cell of the operation's run
};

struct MscclppCell {
  MscclppAccess write;
  std::vector<MscclppAccess> reads;  ///< since the last write
  std::int32_t value = 0;
  std::int32_t packetLaunch = 0;  ///< the flag: 0 = no packet
};

/// An operation as it was run.
struct MscclppInstance {
  mscclpp::OpPlace place;
  int launch = 0;
  bool isCaller = false;
  /// First cells of the packets that it wrote: its readers come after what it read.
  std::vector<std::int64_t> packets = {};
};

}  // namespace coppice::verify
