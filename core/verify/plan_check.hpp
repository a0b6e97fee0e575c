// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "sketch/model.hpp"
#include "sketch/plan.hpp"

namespace coppice::verify {

struct PlanVerdict {
  bool ok = false;
  std::vector<Finding> findings;
};

/// Checks a plan against its sketch by playing it, sharing nothing with what makes plans.
///
/// Messages: the link exists; chunks exist, are different and at most Model::maxTogether between nodes, one within a
/// node; start and end are alpha + n * beta apart, from 0 on.
/// Machines, found again from links and switches: no link, no port of a switch and, with more than two nodes, no port
/// of a relay carries two messages at once. Data that is copied: a GPU sends what it has, gets every chunk once, and at
/// the end every target has it. Data that is reduced: every GPU sends its part of a chunk once, after all that it gets
/// of it and never two at once into one GPU; all parts end at the chunk's owner. Sketch: a chunk stays on shortest ways
/// in hops; it leaves its owner's node by a sender that the relays allow, once for each node with a target; own chunks
/// leave first where that is asked for. Claims: makespan, connections and symmetries are those of the messages; the
/// bound is not above the makespan, nor above what the relaxation that it names proves (provedBound). Errors:
/// cancelled, overflow.
Result<PlanVerdict> checkPlan(const sketch::Model& model, const sketch::Plan& plan, const Progress& progress = {});

}  // namespace coppice::verify
