// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QSize>

#include "designer/document/model.hpp"
#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// The same drawing in both schemes, transparent behind.
struct FabricPicture {
  QImage light;
  QImage dark;
};

/// A small picture of a fabric, drawn as the canvas draws it; boxes are folded where there is too much to see. Of a
/// fabric beyond that, or an empty one, the images are null. May be called on any thread.
/// @param size pixels of 1x
[[nodiscard]] FabricPicture fabricPicture(Model model, QSize size, double devicePixelRatio);

}  // namespace coppice::designer
