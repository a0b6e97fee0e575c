// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"

namespace coppice::forestcoll {

/// A schedule in which every GPU has a limited number of peers.
struct PeerLimited {
  /// The schedule is one of the fabric, and its bound and cuts are the fabric's. The optimum is that of the same
  /// request without the limit, but its trees per root and scale are those of the schedule.
  Generated generated;
  int maxPeers = 0;      ///< peers that some GPU has in this schedule, at most the limit
  bool isWired = false;  ///< false: the fabric keeps the limit by itself
};

/// As generate(), with at most `maxPeers` peers per GPU: GPUs that it sends to or receives from. Runtimes give every
/// peer a threadblock, so this is what makes schedules of many boxes fit them.
///
/// The switches between boxes are replaced by a sparse wiring along physical routes (peer_wiring.hpp), and the exact
/// algorithm runs on that: the schedule is optimal for the wiring and its number of trees per root, and its algbw is
/// exactly what the limit leaves of the optimum. Where whole trees cannot be shared out without loss, a few roundings
/// are tried, also with two and four times the trees per root unless the request fixes them, and the fastest is taken.
///
/// Errors: badUsage (maxPeers below 1); unbalanced for links whose directions differ in bandwidth; infeasible where no
/// such wiring was found, naming the smallest limit for which there is one; and those of generate().
Result<PeerLimited> generateWithPeers(const fabric::Fabric& fabric, const Request& request, int maxPeers,
                                      const Progress& progress = {});

/// generateWithPeers() where a limit is given, else generate().
Result<Generated> generateLimited(const fabric::Fabric& fabric, const Request& request, std::optional<int> maxPeers,
                                  const Progress& progress = {});

}  // namespace coppice::forestcoll
