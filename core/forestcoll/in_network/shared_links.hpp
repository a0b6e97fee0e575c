// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"
#include "forestcoll/optimum.hpp"
#include "forestcoll/request.hpp"

namespace coppice::forestcoll {

/// What is reached by trees that do not share the links otherwise: of an allreduce, by its halves one after the other.
struct Planned {
  Bandwidth algbw;               ///< with the best k
  std::int64_t totalDemand = 0;  ///< as Optimum::inverseRate counts it
};

/// Adds to the answer what trees that share the links reach, what no trees can beat, and the same on plain switches;
/// the trees, where they reach more than was planned. An allreduce may gain, whose halves may overlap, and an allgather
/// or reduce_scatter on switches that copy or sum where links differ by direction. Where numbers are too wide for the
/// program, the answer stays as it is. Throws Failure, OverflowError, CancelledError.
[[nodiscard]] std::optional<TreeMixture> shareLinks(const fabric::Fabric& fabric, const Request& request,
                                                    const Planned& planned, Optimum& optimum, const Progress& progress);

/// Every tree of a mixture is written edge by edge: whether that stays within maxTreeBytes.
[[nodiscard]] bool canBeWritten(const fabric::Fabric& fabric, const TreeMixture& mixture, const Request& request);

/// Goes back to the optimum as it was before shareLinks(), keeps what was said of the bound, and notes why.
void keepPlanned(const Optimum& planned, Optimum& optimum);

}  // namespace coppice::forestcoll
