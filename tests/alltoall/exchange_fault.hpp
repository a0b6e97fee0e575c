// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "alltoall/alltoall.hpp"
#include "verify/exchange_check.hpp"
#include "verify/step_verifier.hpp"

namespace coppice::test {

/// Both certificates, and the routing as a schedule, say what was claimed. Empty where they do.
inline QString faultOf(const fabric::Fabric& fabric, const alltoall::Optimum& optimum, bool withSchedule) {
  const auto upper = verify::provenExchangeBound(fabric, optimum.demand, optimum.lengths);
  const auto lower = verify::provenExchangeRate(fabric, optimum.demand, optimum.routing);
  if (!upper || !lower) {
    return QString::fromStdString(describe(upper ? lower.error() : upper.error()));
  }
  if (*upper != optimum.upper || *lower != optimum.lower || optimum.upper < optimum.lower) {
    return QString("certificates give other rates");
  }
  if (!withSchedule) {
    return {};
  }
  const auto made = alltoall::scheduleOf(fabric, optimum.demand, optimum.routing);
  if (!made) {
    return QString::fromStdString(describe(made.error()));
  }
  const auto verdict = verify::verifySteps(fabric, *made);
  if (!verdict || !verdict->ok) {
    return QString::fromStdString(verdict ? describe(verdict->findings.front()) : describe(verdict.error()));
  }
  return made->algbw == optimum.lower * alltoall::meanBuffer(optimum.demand, fabric.gpuCount())
             ? QString()
             : QString("another algbw");
}

}  // namespace coppice::test
