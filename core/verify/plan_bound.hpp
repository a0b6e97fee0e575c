// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "sketch/model.hpp"

namespace coppice::verify {

/// What a named relaxation ("path", "receiver", …) proves that no plan is shorter than, computed from the model alone,
/// apart from whatever made the claim; 0 for a name that stands for none.
/// @param model and chunks as the data moves: of a reduction the transposed model and the chunks of the broadcast or
/// allgather that it is played backwards. @param weights of "flow": by machine of the model. Throws OverflowError,
/// CancelledError.
[[nodiscard]] Rational provedBound(const sketch::Model& model, const std::vector<sketch::Chunk>& chunks,
                                   bool isReduction, const std::string& name,
                                   const std::vector<std::int64_t>& weights = {}, const Progress& progress = {});

}  // namespace coppice::verify
