// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/collective.hpp"
#include "sketch/model.hpp"

/// What the verifier of plans derives from a model.
namespace coppice::verify {

/// The data of `owner` may leave its node by `sender`.
[[nodiscard]] bool mayLeaveBy(const sketch::Model& model, int owner, int sender);

/// Every link from its end to its begin, ascending by (from, to, lane) again; machines and relays as before.
[[nodiscard]] sketch::Model turnedRound(const sketch::Model& model);

/// The chunks that a collective moves, numbered as sketch::chunksOf says; absent for a root that is not a GPU, and for
/// collectives that plans do not make.
[[nodiscard]] std::optional<std::vector<sketch::Chunk>> chunksMoved(const sketch::Model& model, Collective collective,
                                                                    int root);

}  // namespace coppice::verify
