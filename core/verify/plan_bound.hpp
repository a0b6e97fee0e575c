// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "sketch/model.hpp"
#include "sketch/plan.hpp"

namespace coppice::verify {

/// What the relaxation of a reason ("path", "receiver", …) proves that no plan is shorter than, computed from the model
/// alone, apart from whatever made the claim; 0 for a name that stands for none.
/// @param model and chunks as the data moves: of a reduction the transposed model and the chunks of the broadcast or
/// allgather that it is played backwards. Throws OverflowError, CancelledError.
[[nodiscard]] Rational provedBound(const sketch::Model& model, const std::vector<sketch::Chunk>& chunks,
                                   bool isReduction, const sketch::BoundReason& reason, const Progress& progress = {});

}  // namespace coppice::verify
