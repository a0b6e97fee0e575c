// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/forest.hpp"

namespace coppice::schedule {

/// States the trees per unit of demand, as a schedule below its bound must: Schedule::fixedK. Both forests of an
/// allreduce are given the same number. @pre each root has as many trees as its amount asks for. Throws OverflowError.
void stateFixedK(Schedule& schedule);

}  // namespace coppice::schedule
