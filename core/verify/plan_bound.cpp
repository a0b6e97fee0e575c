// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bound.hpp"

#include "verify/plan_bounds/proof.hpp"

namespace coppice::verify {

Rational provedBound(const sketch::Model& model, const std::vector<sketch::Chunk>& chunks, bool isReduction,
                     const std::string& name, const std::vector<std::int64_t>& weights, const Progress& progress) {
  return plan_bounds::BoundProof(model, chunks, isReduction, weights, progress).prove(name);
}

}  // namespace coppice::verify
