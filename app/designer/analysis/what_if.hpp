// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <set>
#include <stop_token>

#include "base/result.hpp"
#include "base/units.hpp"
#include "designer/document/edit.hpp"
#include "designer/jobs/bound.hpp"
#include "live/prices.hpp"

namespace coppice::designer {

/// How the bound answers when some links all get faster or slower by the same GB/s each.
struct WhatIf {
  Question question;
  std::uint64_t factRevision = 0;
  std::set<LinkId> links;
  bool isAnswered = true;  ///< as Ranking::isAnswered
  QString why;             ///< why there is no curve
  std::int64_t count = 0;  ///< links, parallel ones counted singly
  Bandwidth min;           ///< per direction of the slowest of them now
  Bandwidth max;           ///< of the fastest
  live::Curve curve;       ///< from the slowest at 0 to the fastest at four times what it has
};

/// Never fails. Meant for another thread, after the bound of this snapshot was found by the solver.
[[nodiscard]] WhatIf whatIf(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                            const std::set<LinkId>& links, std::stop_token stop);

struct CurveValue {
  Bandwidth algbw;
  bool isExact = true;  ///< false between the points of a curve that is not piecewise linear
};
/// The bound at a change within the curve. Throws OverflowError. @pre the curve has points
[[nodiscard]] CurveValue valueAt(const live::Curve& curve, const Bandwidth& change);
/// The change at step `step` of `steps` evenly from the curve's begin to its end; the break point (or no change) where
/// one is within half a step. Throws OverflowError.
[[nodiscard]] Bandwidth changeAt(const live::Curve& curve, int step, int steps);
/// The step nearest to a change.
[[nodiscard]] int stepOf(const live::Curve& curve, const Bandwidth& change, int steps);
/// Gives every link its bandwidth and the change. Errors: badInput where one would have none left or cannot be read;
/// then nothing changed.
Outcome changeBandwidths(Edit& edit, const std::set<LinkId>& links, const Bandwidth& change);

}  // namespace coppice::designer
