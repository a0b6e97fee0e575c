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

/// Optimum of the allreduce program, with separate reduce and broadcast shares on every arc. Amounts are ignored.
coppice::Bandwidth bestAllreduce(const coppice::lp::RateProblem& problem);

}  // namespace oracle
