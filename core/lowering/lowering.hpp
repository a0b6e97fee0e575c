// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"
#include "schedule/step_schedule.hpp"

/// From trees and steps to threadblocks.
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
  std::string name = {};  ///< empty = made from fabric, collective and k, or the method
  /// Step schedules: equal chunks of each shard; the ends of pieces move to the nearest border between two chunks (see
  /// schedule::onGrid). 0 = as many as hold all ends exactly.
  std::int64_t chunks = 0;
  /// Threadblocks that each GPU runs at once; nullopt = by the names of the fabric, see
  /// fabric::likelyMultiprocessors().
  std::optional<int> multiprocessors = {};
};

/// Threadblocks of a rank that run at once, as the options or the fabric tell.
[[nodiscard]] int multiprocessorsOf(const fabric::Fabric& fabric, const Options& options);

/// Which trees a step of a program serves: indices into Forest::trees of the reduce and of the broadcast forest; -1 =
/// none (copies of own data). The step at a root that adds up and passes on serves one of each.
struct StepOrigin {
  std::int32_t reduceTree = -1;
  std::int32_t broadcastTree = -1;

  friend bool operator==(const StepOrigin&, const StepOrigin&) = default;
};
/// By rank, threadblock and step of a program, which a reader of its XML keeps.
using StepOrigins = std::vector<std::vector<std::vector<StepOrigin>>>;

/// Lowers a verified schedule of trees.
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
/// In-network pruning is left out: MSCCL knows no multicast, so such edges carry their data all the way. Schedules that
/// fit the links only with it are refused (schedule::needsSwitches).
///
/// Both halves of an allreduce run piece by piece, whether the schedule says that they overlap or not; where it does,
/// its algbw is what the arrangement has to keep up with.
///
/// The images of rotations are written out first, up to 2 GiB.
///
/// Errors: limit, saying which limit of the runtime is exceeded, on which rank, by how much, and what would make it fit
/// (smaller k, fewer instances), also for amounts that differ between ranks, which MSCCL cannot express; badInput for a
/// schedule of another fabric or one that is not made of spanning trees; badUsage for impossible options, also for a
/// protocol that hangs; unavailable for one that needs switches that sum or copy; cancelled.
/// @param origins receives those of the program where it is not null
Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                               const Options& options = {}, const Progress& progress = {},
                               StepOrigins* origins = nullptr);

/// Lowers a verified step schedule. The rules for threadblocks, channels, fused steps, protocols, instances and sizes
/// are the same.
///
/// Every shard is cut into the same number of chunks, the smallest one that has a border at all ends of pieces. Steps
/// of the schedule give the order of a threadblock's steps and become dependencies only where the data or the buffers
/// demand it: there are no barriers, and a piece that two steps forward may take the second hop while others take the
/// first. What an asynchronous schedule orders between two GPUs keeps its order on every channel. What a rank receives
/// and does not want lies in scratch from its arrival until it is sent on for the last time; several such pieces use
/// the same scratch one after the other.
///
/// Alltoall is lowered out of place, whatever the options say: in place, arrivals overwrite what is still to be sent.
/// Gather and scatter are known to msccl-executor-nccl and RCCL alone.
///
/// Errors: as above; limit where the chunks or the program do not fit, with the nearest number of chunks that does and
/// what it costs; badUsage for a collective that the runtime does not know, or that no runtime does.
Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                               const Options& options = {}, const Progress& progress = {});
Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                               const Options& options = {}, const Progress& progress = {});

/// Alltoall has no program in place: what arrives would overwrite what is still to be sent.
[[nodiscard]] constexpr bool hasInPlace(Collective collective) {
  return collective != Collective::alltoall;
}

}  // namespace coppice::lowering
