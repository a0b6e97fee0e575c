// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/collective.hpp"
#include "base/rational.hpp"

namespace coppice {

/// By what nccl-tests multiplies algbw to get busbw: (n-1)/n for allgather, reduce_scatter, alltoall, gather and
/// scatter, twice that for allreduce, 1 for broadcast, reduce and custom. @pre ranks >= 1
[[nodiscard]] Rational busFactor(Collective collective, int ranks);

}  // namespace coppice
