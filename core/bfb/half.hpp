// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/failure.hpp"
#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "bfb/logical.hpp"
#include "bfb/schedule.hpp"
#include "bfb/survey.hpp"
#include "fabric/fabric.hpp"

/// The parts of which schedules are put together, for all targets or for one.
namespace coppice::bfb {

inline constexpr std::int64_t kMaxChunks = std::numeric_limits<std::int32_t>::max();

/// [begin, end) chunks of the owner's shard over a link.
struct Send {
  std::int32_t owner = 0;
  std::int32_t link = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// What the targets of a block get, by target and step.
struct BlockSends {
  std::vector<std::size_t> start;  ///< by SurveyBlock::steps, into `sends`; one more at the end
  std::vector<Send> sends;
};

/// One direction of data: an allgather or a broadcast on a digraph, or on its transpose to be turned round.
struct Half {
  bool isTurned = false;
  Logical logical;
  Survey found;
  std::int64_t chunks = 1;
  std::vector<Rational> wholeLoads;  ///< V_t in chunks per unit link
  std::vector<BlockSends> sends;     ///< by block
};

/// The functions below throw Failure, OverflowError and CancelledError.
/// The logical topologies that there are to choose from: 1, or more with switches, of which the first is that of
/// logicalGraph and the others are boxWirings.
[[nodiscard]] std::size_t wiringCount(const fabric::Fabric& fabric, const Request& request, const Progress& progress);
[[nodiscard]] Half makeHalf(const fabric::Fabric& fabric, const Request& request, bool isTurned, std::size_t wiring,
                            const Progress& progress);
/// Latencies of links in shards per unit link. @pre request.bytes
void setLatencies(const fabric::Fabric& fabric, const Request& request, Half& half);
/// Reads what the targets below `lastTarget` get.
void surveyHalf(Half& half, const Deliveries& deliveries, int lastTarget, const Progress& progress);
/// The fewest chunks that lose nothing, or those asked for, and the loads with them.
void chooseChunks(Half& half, const std::optional<std::int64_t>& asked);
/// What every target gets over which link.
void makeSends(Half& half, const Deliveries& deliveries, const Progress& progress);
/// The steps of the half behind those that `costs` has. @param firstRoute the id of link 0 among the routes
void addCosts(const Half& half, schedule::PathId firstRoute, Costs& costs);
/// Halves are counted in the unit of the finer one.
void shareUnit(std::vector<Half>& halves);

}  // namespace coppice::bfb
