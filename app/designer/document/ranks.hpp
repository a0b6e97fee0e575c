// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <set>

#include "designer/document/edit.hpp"

namespace coppice::designer {

/// New GPUs continue the numbering of the GPUs of the edit's base, in the order of their ids, where all of those have a
/// rank: ranks are for all GPUs or for none.
void continueRanks(Edit& edit, const std::set<ElementId>& made);

}  // namespace coppice::designer
