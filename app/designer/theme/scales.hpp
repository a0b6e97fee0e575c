// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <Qt>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// The i-th category (series, sides, candidates); repeats after categoryCount(). Orange is the limit alone, so no
/// category comes near it, and none is black.
[[nodiscard]] QColor category(int index, Scheme scheme);
[[nodiscard]] int categoryCount();
/// The second channel: a dash pattern that goes with the i-th category.
[[nodiscard]] Qt::PenStyle categoryDash(int index);

/// Load, 0 (idle) to 1 (full), clamped: one hue, whose contrast with the ground grows with the value in both schemes.
/// Idle can just be told from the ground.
[[nodiscard]] QColor heat(double value, Scheme scheme);

/// A quiet colour for the i-th of many (boxes, shards, trees); none is near the orange of the limit.
[[nodiscard]] QColor mutedHue(int index, Scheme scheme);

}  // namespace coppice::designer
