// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "fabric/description.hpp"
#include "fabric/fabric.hpp"
#include "live/cut_bound.hpp"

/// What one more GB/s is worth: exact derivatives of the cut bound and its curve over a bandwidth.
///
/// With fixed cuts everything is a line: raising a set of arcs by t each, the rate that cut S allows is
/// (B+(S) + t * (arcs of the set that leave S)) / demand(S), and the bound is the minimum of these lines. So it is
/// concave and piecewise linear in t (the bound of an allreduce is the harmonic sum of two such functions), and a
/// supporting line at any t is a cut that is tight there. Slopes and breakpoints are found by meeting two supporting
/// lines and asking the bound at the meeting point, until it lies on both: exact, over all cuts, ties included.
namespace coppice::live {

/// Arcs whose bandwidth changes together, by `weight` GB/s for each GB/s of change (parallel links count each).
struct GroupArc {
  fabric::NodeIndex src = 0;
  fabric::NodeIndex dst = 0;
  std::int64_t weight = 1;
};

/// One link (both directions or one), or a class of links.
struct LinkGroup {
  std::string name;
  std::vector<GroupArc> arcs;
};

/// Every pair of nodes with a link: both directions, or the one that exists. Sorted by the nodes, the smaller first.
[[nodiscard]] std::vector<LinkGroup> linkPairs(const fabric::Fabric& fabric);
/// The same sorted into classes, each a group: same kinds of ends, inside one box or not, same bandwidths. Named after
/// what they share: "gpu - switch inside a box, 300 GB/s".
[[nodiscard]] std::vector<LinkGroup> linkClasses(const fabric::Fabric& fabric);
/// The links of the fabric's description, entry by entry: an entry of count n is raised n-fold. Errors: badUsage for an
/// end that the fabric does not have.
[[nodiscard]] Result<std::vector<LinkGroup>> groupsOf(const fabric::Fabric& fabric,
                                                      const fabric::Description& description);

/// How the bound answers to a change of t GB/s on every arc of a group.
struct Price {
  /// d algbw / dt just above and just below the present bandwidth. raise <= lower; they differ where cuts are tied.
  Rational raise;
  Rational lower;
  /// The first changes t > 0 and t < 0 at which the slope changes again: another cut takes over. Absent: never above;
  /// below, not before some arc of the group has lost all its bandwidth.
  std::optional<Bandwidth> nextAbove = {};
  std::optional<Bandwidth> nextBelow = {};
};

struct RankedPrice {
  std::size_t group = 0;  ///< index into the groups given
  Price price;
};
/// All groups, the most worthwhile raise first (then the most harmful loss, then the given order). Links that exchanges
/// of equal parts map onto each other are asked once. Errors: badUsage (an empty group, an arc that the fabric does not
/// have, an arc named twice, a weight below 1), infeasible (nothing to send), overflow, cancelled.
Result<std::vector<RankedPrice>> rankPrices(const CutBound& bound, std::span<const LinkGroup> groups,
                                            const Progress& progress = {});

/// algbw at one change of bandwidth with the slopes on either side.
struct CurvePoint {
  Bandwidth change;  ///< t in GB/s
  Bandwidth algbw;
  Rational slopeBefore;  ///< of the piece to the left; at the first point as slopeAfter
  Rational slopeAfter;   ///< of the piece to the right; at the last point as slopeBefore
};

struct Curve {
  /// The ends of the interval and every point between them at which the slope changes, ascending.
  std::vector<CurvePoint> points;
  /// False for an allreduce whose halves have different bounds: algbw is then 1 / (1/RS + 1/AG) between the points,
  /// and the slopes are those at the points.
  bool isPiecewiseLinear = true;
};

/// algbw for all changes t in [from, to]. Errors: badUsage (from > to, or a bandwidth below 0 at `from`), as
/// rankPrices.
Result<Curve> curveOf(const CutBound& bound, const LinkGroup& group, const Bandwidth& from, const Bandwidth& to,
                      const Progress& progress = {});

}  // namespace coppice::live
