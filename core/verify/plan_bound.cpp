// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bound.hpp"

#include "verify/plan_bounds/proof.hpp"

namespace coppice::verify {

Rational provedBound(const sketch::Model& model, const std::vector<sketch::Chunk>& chunks, bool isReduction,
                     const sketch::BoundReason& reason, const Progress& progress) {
  return plan_bounds::BoundProof(model, chunks, isReduction, reason.weights, progress).prove(reason.relaxation);
}

}  // namespace coppice::verify
