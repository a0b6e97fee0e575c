// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"

namespace coppice::io {

/// What a foreign file gave: the fabric, and everything that was guessed, left out or reduced on the way (notes and
/// warnings; an import that fails returns an Error instead).
struct ImportResult {
  fabric::Description description;
  std::vector<Finding> findings;
};

}  // namespace coppice::io
