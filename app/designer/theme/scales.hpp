// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <Qt>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// The i-th category (trees, series), told apart by the colour-blind too; repeats after categoryCount().
/// Source: Okabe and Ito, "Color Universal Design" (2008); on a dark ground black becomes light grey, and on a light
/// one yellow is darkened, so that each stands out.
[[nodiscard]] QColor category(int index, Scheme scheme);
[[nodiscard]] int categoryCount();
/// The second channel: a dash pattern that goes with the i-th category.
[[nodiscard]] Qt::PenStyle categoryDash(int index);

/// Perceptually even heat, 0 (idle) to 1 (full), clamped. On a dark ground low values are dark, on a light ground they
/// are light, so that what is hot stands out.
/// Source: anchors of cividis; Nuñez, Anderton and Renslow, PLoS ONE 13(7), 2018.
[[nodiscard]] QColor heat(double value, Scheme scheme);

}  // namespace coppice::designer
