// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <algorithm>
#include <cstdint>

#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// What a node is drawn as.
enum class Shape : std::uint8_t { gpu, nic, switchBar, unknown, foldedBox };

/// How a shape looks: colours by token, lengths in scene units.
struct ShapeStyle {
  Token fill;
  Token line;
  double radius;         ///< of the corners; negative: the ends are round
  double fontSize;       ///< of the label
  double shortFontSize;  ///< of a label of one or two letters
  double minFontSize;    ///< down to which a label shrinks to fit; as fontSize: it does not shrink
  double labelMargin;    ///< beside the label, both ends together
  double detailMargin;   ///< beside label and detail, more than labelMargin
  double portGap;        ///< greatest distance between links that leave one side

  /// Of the corners of a shape of this size.
  [[nodiscard]] double radiusIn(const QRectF& rect) const {
    return radius < 0 ? rect.height() / 2 : std::min({radius, rect.height() / 2, rect.width() / 2});
  }
  [[nodiscard]] double fontSizeOf(qsizetype letters) const { return letters < 3 ? shortFontSize : fontSize; }
  [[nodiscard]] bool shrinksLabel() const { return minFontSize < fontSize; }
};

[[nodiscard]] const ShapeStyle& styleOf(Shape shape);

}  // namespace coppice::designer
