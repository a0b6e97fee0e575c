// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"

namespace coppice::workflow {

/// What a launch bundle and the window say of a file that is to be run.
struct ScheduleFacts {
  int ranks = 0;
  int root = -1;  ///< of broadcast and reduce; -1 = none, or not known
};

/// Of a .forest.json or an MSCCL XML. An XML does not name its root, so a program of broadcast or reduce is executed
/// symbolically: where its data comes from, or goes to, is the root. @param name for messages. Errors: badInput with
/// the place; cancelled is thrown.
[[nodiscard]] Result<ScheduleFacts> scheduleFacts(const std::string& text, const std::string& name,
                                                  const Progress& progress = {});

}  // namespace coppice::workflow
