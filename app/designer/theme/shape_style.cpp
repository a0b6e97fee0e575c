// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/shape_style.hpp"

#include <array>

namespace coppice::designer {

const ShapeStyle& styleOf(Shape shape) {
  // In the order of Shape.           fill                line                radius  font, short, min  margins  ports
  static constexpr std::array<ShapeStyle, 5> kStyles{{
      {Token::gpuFill, Token::gpuLine, 12, 20, 24, 12, 12, 0, 9},
      {Token::nicFill, Token::nicLine, 7, 11, 11, 11, 4, 0, 9},
      {Token::switchFill, Token::switchLine, -1, 16, 16, 16, 12, 12, 28},
      {Token::unknownFill, Token::unknownLine, 12, 18, 18, 18, 12, 0, 9},
      {Token::room, Token::boxLine, 14, 18, 18, 18, 12, 0, 28},
  }};
  return kStyles[static_cast<std::size_t>(shape)];
}

}  // namespace coppice::designer
