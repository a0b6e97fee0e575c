// SPDX-License-Identifier: Apache-2.0
#include "workflow/proved_optimum.hpp"

#include "verify/tree_bound_check.hpp"
#include "workflow/claims.hpp"

namespace coppice::workflow {

Result<forestcoll::Optimum> provedOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                          const Progress& progress) {
  auto optimum = forestcoll::optimum(fabric, request, progress);
  if (!optimum || !optimum->boundProof) {
    return optimum;
  }
  const auto verdict = verify::checkTreeBound(fabric, *optimum->boundProof,
                                              {request.collective, request.amounts, request.plainSwitches}, progress);
  if (!verdict) {
    return verdict.error();
  }
  return verdict->ok ? std::move(optimum) : Result<forestcoll::Optimum>(rejected(verdict->findings));
}

}  // namespace coppice::workflow
