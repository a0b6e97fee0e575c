// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alltoall/alltoall.hpp"
#include "alltoall/experts.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"

/// Dispatch and combine of a mixture-of-experts layer on a fabric: how fast they can possibly be.
namespace coppice::workflow {

struct ExpertQuestion {
  int experts = 0;
  std::int64_t tokens = 0;            ///< of each GPU; with counts, not used
  int topK = 1;                       ///< with counts, not used
  std::optional<int> maxBoxes = {};   ///< node-limited routing; with counts, not used
  std::int64_t dispatchBytes = 7168;  ///< per token
  std::int64_t combineBytes = 14336;
  std::vector<std::int64_t> counts = {};  ///< tokens by rank, then expert; empty = expected ones
  alltoall::ExpertPlacement placement = {};
  bool oncePerBox = false;
  bool improves = false;  ///< the placement
};

/// What a rank sends and receives, in bytes, and how long that takes over all its links alone.
struct RankTraffic {
  Rational sent;
  Rational received;
  Rational nanoseconds;
};

/// One exchange, with both certificates checked.
struct ExchangeTime {
  alltoall::DemandTable table;
  std::shared_ptr<const alltoall::Optimum> optimum;
  // A byte at 1 GB/s takes a nanosecond.
  Rational nanoseconds;                            ///< as long as the routing takes
  Rational leastNanoseconds;                       ///< no routing is faster
  std::optional<Rational> directNanoseconds = {};  ///< where GPUs pass nothing on; absent where that is impossible
  // What people print: GB/s of a GPU while the exchange lasts, on average.
  double networkGBps = 0;  ///< sent out of its box
  double boxGBps = 0;      ///< received, without what comes from other boxes
  std::vector<RankTraffic> ranks = {};
  fabric::Rank worst = 0;  ///< the rank that needs the longest alone

  [[nodiscard]] bool isExact() const { return optimum->isExact(); }
  /// No rank needs longer than another.
  [[nodiscard]] bool areRanksAlike() const;
  [[nodiscard]] const RankTraffic& worstTraffic() const { return ranks[static_cast<std::size_t>(worst)]; }
};

/// @param withDirect also without GPUs that pass data on
/// Errors: those of alltoall::optimum; verification.
[[nodiscard]] Result<ExchangeTime> exchangeTime(const fabric::Fabric& fabric, alltoall::DemandTable table,
                                                bool withDirect, const alltoall::Request& limits,
                                                const Progress& progress);

struct ExpertAnswer {
  ExchangeTime dispatch;
  ExchangeTime combine;
  std::optional<ExchangeTime> before = {};  ///< dispatch with the placement that was given, where it was improved
  alltoall::ExpertPlacement placement;
  std::vector<int> boxOf;  ///< by rank

  /// Of both exchanges.
  [[nodiscard]] Rational nanoseconds() const { return dispatch.nanoseconds + combine.nanoseconds; }
};

/// Boxes are those of the fabric, or of its links where it names none; all GPUs are one box where there are none.
/// Errors: badUsage, and those of exchangeTime.
[[nodiscard]] Result<ExpertAnswer> expertLayer(const fabric::Fabric& fabric, const ExpertQuestion& question,
                                               const alltoall::Request& limits, const Progress& progress);

}  // namespace coppice::workflow
