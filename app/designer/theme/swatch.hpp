// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QIcon>

namespace coppice::designer {

/// A dot in the colour of a category of the current theme, for rows of lists.
[[nodiscard]] QIcon swatch(int index);

}  // namespace coppice::designer
