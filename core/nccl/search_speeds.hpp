// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/rational.hpp"

namespace coppice::nccl {

/// GB/s per channel that NCCL's search tries, from fast to slow (search.cc of 2.30.7).
/// @param isAlone whether there is one box
[[nodiscard]] std::vector<Rational> searchSpeeds(int computeCapability, bool isAlone);

}  // namespace coppice::nccl
