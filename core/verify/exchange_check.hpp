// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/exchange.hpp"

/// Judges the two certificates of an all-to-all (schedule/exchange.hpp) from the fabric alone.
namespace coppice::verify {

/// What the lengths prove: no all-to-all of the demand is faster than this, in GB/s per unit of its amounts. Distances
/// are found by relaxing every arc until none gets shorter, arcs out of other GPUs only where these relay. Errors:
/// verification (as many lengths as arcs, none negative, not all distances 0), overflow, cancelled.
Result<Bandwidth> provenExchangeBound(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                      const schedule::ExchangeLengths& lengths, const Progress& progress = {});

/// What the routing reaches, in GB/s per unit of the amounts. Checks that every symmetry permutes the nodes and keeps
/// kinds, links, bandwidths and amounts; that no GPU relays where that is forbidden; that every tree is a tree of links
/// from a GPU to all others; that the weights of a source sum to the denominator, its images are reached by equally
/// many symmetries, and every GPU is the image of one source. Then adds up the loads of all images. Errors:
/// verification naming the symmetry or tree, overflow, cancelled.
Result<Bandwidth> provenExchangeRate(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                     const schedule::ExchangeRouting& routing, const Progress& progress = {});

}  // namespace coppice::verify
