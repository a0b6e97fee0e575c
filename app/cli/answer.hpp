// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/tied_cuts.hpp"

/// What `optimum` and `generate` both say about the best throughput.
namespace coppice::cli {

struct Answer {
  Json json;
  std::string text;
};

/// The cuts that prove the optimum; none where forwarding, not a cut, is the limit. Errors as forestcoll::tiedCuts.
[[nodiscard]] Result<forestcoll::TiedCuts> cutsOf(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                                  const forestcoll::Optimum& optimum, const Progress& progress);

/// free: the optimum over all k, where the question fixed k or its maximum; nullptr otherwise. Without `hasJson`, the
/// JSON lacks the cuts: their lists of nodes take longer than all else.
[[nodiscard]] Answer describeOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                     const forestcoll::Optimum& optimum, const forestcoll::TiedCuts& tied,
                                     const forestcoll::Optimum* free, bool hasJson);

}  // namespace coppice::cli
