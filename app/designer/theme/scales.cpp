// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/scales.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace coppice::designer {
namespace {

// Okabe-Ito: blue, vermilion, bluish green, reddish purple, sky blue, orange, yellow, black.
constexpr std::array<QRgb, 8> kLight{0xFF0072B2, 0xFFD55E00, 0xFF009E73, 0xFFCC79A7,
                                     0xFF3A9FD8, 0xFFD98C00, 0xFFA89A00, 0xFF000000};
constexpr std::array<QRgb, 8> kDark{0xFF3E9BD6, 0xFFE8743B, 0xFF1DB88E, 0xFFD98DB6,
                                    0xFF56B4E9, 0xFFE69F00, 0xFFF0E442, 0xFFD0D0D0};

// cividis at 0, 1/9, … 1.
constexpr std::array<QRgb, 10> kCividis{0xFF00224E, 0xFF123570, 0xFF3B496C, 0xFF575D6D, 0xFF707173,
                                        0xFF8A8678, 0xFFA59C74, 0xFFC3B369, 0xFFE1CC55, 0xFFFEE838};
constexpr std::size_t kSteps = kCividis.size() - 1;

}  // namespace

QColor category(int index, Scheme scheme) {
  const auto at = static_cast<std::size_t>(((index % categoryCount()) + categoryCount()) % categoryCount());
  return QColor::fromRgb(scheme == Scheme::dark ? kDark[at] : kLight[at]);
}

int categoryCount() {
  return static_cast<int>(kLight.size());
}

Qt::PenStyle categoryDash(int index) {
  constexpr std::array<Qt::PenStyle, 4> kDashes{Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DotLine};
  return kDashes[((index % 4) + 4) % 4];
}

QColor heat(double value, Scheme scheme) {
  double share = std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0;
  if (scheme == Scheme::light) {
    share = 1 - share;
  }
  const double place = share * static_cast<double>(kSteps);
  const auto below = std::min(static_cast<std::size_t>(place), kSteps - 1);
  return mixed(QColor::fromRgb(kCividis[below]), QColor::fromRgb(kCividis[below + 1]),
               place - static_cast<double>(below));
}

}  // namespace coppice::designer
