// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace coppice::executor {

/// Shows a run on standard output and standard error until it ends; see superviseMain.
/// @param endsWithUs  end of input, or silence after a ping, ends the run
/// @return the exit code of the run; 0 if this end left before
int attach(const std::string& folder, bool endsWithUs);

}  // namespace coppice::executor
