// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"

/// Step-synchronous synthesis (Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021).
namespace coppice::synth {

/// One way to send directly from a GPU to another: over one link, or through switches and NICs.
struct LogicalArc {
  fabric::Rank from = 0;
  fabric::Rank to = 0;
  std::vector<fabric::NodeIndex> nodes;  ///< from sender to receiver, both included
};

/// In a step of r rounds at most floor(perRound * r) chunks over these arcs together.
struct Limit {
  std::vector<int> arcs;  ///< into Topology::arcs, ascending
  Rational perRound;
};

/// A link of the fabric, with what it carries in one round.
struct PhysicalLink {
  fabric::NodeIndex tail = 0;
  fabric::NodeIndex head = 0;
  Rational perRound;
};

/// What sends may use: the pair (E, B) of the paper, section 3.2.1. An arc belongs to a limit for each link of its
/// route; limits that follow from others are left out.
struct Topology {
  int nodes = 0;  ///< GPUs
  std::vector<LogicalArc> arcs;
  std::vector<Limit> limits;
  std::vector<std::vector<int>> limitsOf;  ///< by arc, into limits
  std::vector<std::vector<int>> out;       ///< by rank, into arcs
  std::vector<std::vector<int>> in;        ///< by rank, into arcs
  std::vector<PhysicalLink> links;
  std::vector<fabric::NodeIndex> gpus;  ///< by rank
  std::vector<int> boxOf;               ///< by rank: number of its innermost box; -1 = in none
  int fabricNodes = 0;
  Bandwidth unit;           ///< the bandwidth that moves one chunk per round
  bool isIntegral = false;  ///< every perRound is a whole number
  /// Some routes are left out, because there are too many: what has no schedule here may have one.
  bool isPartial = false;

  [[nodiscard]] std::int64_t capacity(int limit, std::int64_t rounds) const {
    return (limits[limit].perRound * Rational(rounds)).floor();
  }
};

struct UnitChoice {
  std::optional<Bandwidth> unit =
      {};                       ///< GB/s; absent = the gcd of the bandwidths, or the minimum where that is too fine
  bool isOneBandwidth = false;  ///< every link counts as one unit
};

/// A unit finer than 1 / this of the largest bandwidth is not chosen by itself.
inline constexpr std::int64_t kFinestUnit = 16;
/// With more routes than these, the shortest of each pair are kept, at most some: the search could not hold the sends
/// of all. More pairs than these are refused.
inline constexpr std::size_t kMaxArcs = 200'000;
inline constexpr std::size_t kMaxRoutesOfPair = 8;

/// Routes are all simple paths through switches and NICs, less those that use all links of another of the same pair.
/// Errors: badUsage (a unit that is not positive or above the bandwidth of a link), limit (too many pairs), overflow.
Result<Topology> topologyOf(const fabric::Fabric& fabric, const UnitChoice& choice);

/// Fills what follows from arcs and limits: out, in, limitsOf, isIntegral.
void indexArcs(Topology& topology);

/// No more chunks than this enter the arcs together in one round: their limits, of which one that holds several counts
/// once.
[[nodiscard]] Rational rateOver(const Topology& topology, std::span<const int> arcs);

/// Hops from the nearest of the flagged ranks along arcs; -1 = not reached.
[[nodiscard]] std::vector<int> distancesFrom(const Topology& topology, const std::vector<bool>& flagged);
/// Hops to the nearest of the flagged ranks.
[[nodiscard]] std::vector<int> distancesTo(const Topology& topology, const std::vector<bool>& flagged);

}  // namespace coppice::synth
