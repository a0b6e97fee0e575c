// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "fabric/fabric.hpp"
#include "io/import_result.hpp"

namespace coppice::fuzz {

/// Ends the run where a refusal says nothing, or what was accepted is not balanced although its format is.
inline void judge(const Result<io::ImportResult>& result, bool mustBeBalanced) {
  if (!result) {
    if (result.error().message.empty()) {
      std::abort();
    }
    return;
  }
  const auto fabric = fabric::Fabric::build(result->description);
  if (mustBeBalanced && fabric && !fabric->isBalanced()) {
    std::abort();
  }
}

}  // namespace coppice::fuzz
