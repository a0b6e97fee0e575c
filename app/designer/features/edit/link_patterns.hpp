// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "designer/document/model.hpp"

namespace coppice::designer {

/// Which nodes a pattern over names links.
struct NamedPairs {
  std::vector<std::pair<NodeId, NodeId>> pairs;  ///< each pair once, in the order of the first, then of the second
  int withoutPartner = 0;                        ///< nodes that the left side matches and that have no partner
};

/// `leaf(\d+)->host$1`: on the left a regular expression for whole names, on the right the names to link each to, with
/// $1 … $9 for what its brackets caught and * and ? for any letters. Errors: badInput for what is not such a pattern,
/// limit for more pairs than edits::kMaxPatternLinks.
[[nodiscard]] Result<NamedPairs> pairsByName(const Model& model, const QString& pattern);

}  // namespace coppice::designer
