// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workflow/generator.hpp"

namespace coppice::workflow {

/// TACCL with a sketch that the program proposes (sketch::propose).
[[nodiscard]] Generator tacclMethod();

}  // namespace coppice::workflow
