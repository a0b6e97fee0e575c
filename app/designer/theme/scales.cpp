// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/scales.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace coppice::designer {
namespace {

// Blue, green, purple, sky, rose, olive, indigo, slate: none of them near the orange of the limit, none of them black,
// and neighbours differ in lightness.
constexpr std::array<QRgb, 8> kLight{0xFF2468A2, 0xFF3A9B78, 0xFF7E4E9E, 0xFF5BA3CC,
                                     0xFFA8527E, 0xFF7C8F3C, 0xFF3D4A80, 0xFF7D8B95};
constexpr std::array<QRgb, 8> kDark{0xFF5AA0DC, 0xFF57C9A0, 0xFFB892DA, 0xFF93CFEF,
                                    0xFFD88FB6, 0xFFAFC268, 0xFF8C9EDB, 0xFFAEBAC3};

// Load: one hue, from what can just be told from the ground to what stands out most.
struct Ramp {
  QRgb idle;
  QRgb half;
  QRgb full;
};
constexpr Ramp kLoadOnLight{0xFFBFCAD4, 0xFF5F7F9D, 0xFF10263C};
constexpr Ramp kLoadOnDark{0xFF3A4854, 0xFF7C9BB6, 0xFFEAF3FB};

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
  const double share = std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0;
  const Ramp& ramp = scheme == Scheme::dark ? kLoadOnDark : kLoadOnLight;
  constexpr double kHalf = 0.5;
  return share < kHalf ? mixed(QColor::fromRgb(ramp.idle), QColor::fromRgb(ramp.half), share / kHalf)
                       : mixed(QColor::fromRgb(ramp.half), QColor::fromRgb(ramp.full), (share - kHalf) / kHalf);
}

QColor mutedHue(int index, Scheme scheme) {
  // Steps of the golden angle over the circle without its orange part: any two near each other differ.
  constexpr double kGoldenAngle = 137.50776;
  constexpr double kFirstHue = 65;
  constexpr double kHues = 300;
  constexpr double kCircle = 360;
  const double hue = std::fmod(kFirstHue + std::fmod(kGoldenAngle * std::abs(index) + kHues / 2, kHues), kCircle);
  const bool isDark = scheme == Scheme::dark;
  constexpr double kLightness[2][2] = {{0.46, 0.58}, {0.62, 0.74}};
  constexpr double kSaturation = 0.26;
  return QColor::fromHslF(static_cast<float>(hue / kCircle), static_cast<float>(kSaturation),
                          static_cast<float>(kLightness[isDark ? 1 : 0][index & 1]));
}

}  // namespace coppice::designer
