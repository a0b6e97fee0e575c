// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QString>
#include <QStringList>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// Names of the pictures that the help shows: "cut", "tree" …
[[nodiscard]] QStringList helpPictureNames();

/// The picture of that name as the canvas draws it, at most `width` pixels of 1x wide; null if there is none.
[[nodiscard]] QImage helpPicture(const QString& name, Scheme scheme, double width, double devicePixelRatio);

}  // namespace coppice::designer
