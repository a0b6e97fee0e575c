// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"
#include "schedule/forest.hpp"

/// From trees to threadblocks.
namespace coppice::lowering {

enum class ChannelPolicy {
  compact,   ///< as few channels as the program needs
  nicPlanes  ///< traffic through odd/even NIC planes on odd/even channels
};

/// Stands for "no upper limit of the caller's": see Options::maxBytes.
inline constexpr std::int64_t kDefaultMaxBytes = std::int64_t{1} << 40;

struct Options {
  program::Runtime runtime = program::Runtime::msccl;
  std::optional<program::Protocol> protocol = {};  ///< without one: see chooseProtocol
  bool inPlace = true;                             ///< false: the out-of-place program (own slices are copied)
  int instances = 1;  ///< independent copies, each moving 1/instances of every chunk; 1 to 32
  std::int64_t minBytes = 0;
  /// MSCCL reserves scratch for maxBytes when a communicator is made. So a program that needs scratch there (reduce and
  /// reduce_scatter out of place) gets a smaller window in place of the default, one that takes at most 1 GiB.
  std::int64_t maxBytes = kDefaultMaxBytes;
  ChannelPolicy channels = ChannelPolicy::compact;
  std::string name = {};  ///< empty = made from fabric, collective and k
};

/// Lowers a verified schedule.
///
/// Every rank has one threadblock per (send peer, channel) and one per (receive peer, channel); one serves both where
/// it mostly forwards (then with fused steps), or where threadblocks are scarce. Trees share them: a threadblock runs
/// the steps of many trees in one order. `multiplicity` equal trees move as one step of that many chunks (at most 71,
/// and less where smaller parts keep the links busier); multiplicities with a common divisor are reduced first. Busy
/// pairs of ranks get several channels; the halves of an allreduce get channels of their own while they last.
///
/// Several arrangements are tried in a simulated steady run, and the first that keeps up with the schedule's algbw, or
/// else the fastest, is taken. Whichever it is, the finished program is proven free of deadlock at the protocol's
/// connection depth, even if every chunk of a step becomes a message of its own. Same input, same program.
///
/// RCCL's kernels have no fused steps, and their waits do not order all memory: there, one threadblock adds up all that
/// a rank receives for a part, and every wait that has to order memory is kept (see verify::checkMemoryOrder).
///
/// In-network pruning is left out: MSCCL knows no multicast, so such edges carry their data all the way.
///
/// Forests by parts are written out first, up to 2 GiB.
///
/// Errors: limit, saying which limit of the runtime is exceeded, on which rank, by how much, and what would make it fit
/// (smaller k, fewer instances), also for amounts that differ between ranks, which MSCCL cannot express; badInput for a
/// schedule of another fabric or one that is not made of spanning trees; badUsage for impossible options, also for a
/// protocol that hangs; cancelled.
Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                               const Options& options = {}, const Progress& progress = {});

}  // namespace coppice::lowering
