// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QString>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// The picture of that name ("cut", "tree" …) as the canvas draws it, at most `width` pixels of 1x wide; null if there
/// is none.
[[nodiscard]] QImage helpPicture(const QString& name, Scheme scheme, double width, double devicePixelRatio);

}  // namespace coppice::designer
