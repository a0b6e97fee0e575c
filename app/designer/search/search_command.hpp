// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "designer/search/front_search.hpp"

namespace coppice::designer {

/// "coppice-cli synthesize FABRIC … --pareto", for a collective with a name.
[[nodiscard]] QString synthesizeCommand(const QString& fabricPath, const FrontRequest& request);

}  // namespace coppice::designer
