// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/rational.hpp"
#include "lp/balance.hpp"

/// The same questions put to Z3 with every cut listed: slow, tiny fabrics only, and independent of core/lp.
namespace oracle {

/// Whether Z3 is there; without it the functions must not be called.
[[nodiscard]] bool isAvailable();

/// Largest sum of weight * c' over rational c' that are balanced and feasible; nullopt when there is none.
std::optional<coppice::Rational> bestWorth(const coppice::lp::BalanceProblem& problem);

/// Largest rate over rational balanced c'.
coppice::Bandwidth bestRate(const coppice::lp::RateProblem& problem);

/// What relays can do, by node; empty = nothing.
struct Abilities {
  std::vector<bool> copy;
  std::vector<bool> sum;
};

/// Optimum of the allreduce program, with separate reduce and broadcast shares on every arc and all its cuts listed; a
/// relay that copies may send more than it gets in the broadcast, one that sums less in the reduction. Amounts are
/// ignored.
coppice::Bandwidth bestAllreduce(const coppice::lp::RateProblem& problem, const Abilities& abilities = {});

}  // namespace oracle
