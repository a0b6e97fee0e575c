// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "patch/wiring.hpp"

namespace coppice::patch {

/// What to do with one cable. Without `before` it is new, without `after` it is taken away; else it moves.
struct Move {
  std::optional<Cable> before;
  std::optional<Cable> after;

  /// Ends that change their port: 0, 1 or 2 of a cable that stays in use.
  [[nodiscard]] int movedEnds() const;
};

/// From one wiring to another: all ends that move are pulled first and plugged in afterwards.
struct Plan {
  std::vector<Move> moves;
  /// Which node of the new links each node is: roles[v] = number in the new links. The identity where labels are kept.
  std::vector<int> roles;
  Wiring after;
  std::int64_t kept = 0;  ///< cables that are not touched

  [[nodiscard]] std::int64_t moved() const;  ///< cables that stay in use and change a port
  [[nodiscard]] std::int64_t added() const;
  [[nodiscard]] std::int64_t removed() const;
};

struct PlanOptions {
  /// Lets nodes exchange their roles where that keeps more cables: exchanges of two until none helps. Without it the
  /// plan moves the fewest cables there can be: a link of both wirings keeps its cable, and every other link of the new
  /// one needs a cable that was not there.
  bool mayRelabel = false;
};

/// `wanted` has the ids of `before` in the same order, and of the same kind. Ports of kept cables stay; the others take
/// free ports, so all ports must reach each other (one panel, or an optical switch). Errors: badUsage for other ids or
/// another kind; cancelled.
[[nodiscard]] Result<Plan> planMoves(const Wiring& before, const Links& wanted, const PlanOptions& options = {},
                                     const Progress& progress = {});

/// Carries the plan out on a copy of `before`: a port must be free when something is plugged in, and in the end the
/// links are `wanted` with the roles of the plan. A fault in words, or empty. Shares nothing with planMoves.
[[nodiscard]] std::string replay(const Wiring& before, const Plan& plan, const Links& wanted);

/// "action,cable,node,port" in order: all disconnections, then all connections.
[[nodiscard]] std::string toCsv(const Plan& plan);

}  // namespace coppice::patch
