// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <array>
#include <cstddef>
#include <span>

/// Every colour of the program, by what it is for. Nothing else names a colour, save the scales in theme/scales.hpp.
namespace coppice::designer {

enum class Scheme { light, dark };

enum class Token {
  window,      ///< the backmost surface
  panel,       ///< docks and bars
  canvas,      ///< the drawing surface
  field,       ///< where text is typed, and rows of tables
  hover,       ///< behind what the pointer is over
  room,        ///< inside of a box
  grid,        ///< dots of the canvas
  line,        ///< hairlines between surfaces
  boxLine,     ///< outline of a box
  text,        ///< the first of three levels of text
  muted,       ///< the second
  faint,       ///< the third: large or unessential only
  accent,      ///< what the user can do, and what is selected
  accentSoft,  ///< behind it
  onAccent,    ///< text on accent
  cut,         ///< the bottleneck, and nothing else
  cutSoft,     ///< behind it
  onCut,       ///< text on cut
  error,       ///< faults
  warning,     ///< doubts
  gpuFill,
  gpuLine,
  switchFill,
  switchLine,
  nicFill,
  nicLine,
  unknownFill,  ///< a node of a kind that does not exist
  unknownLine,
  noteFill,
  link,      ///< at rest
  linkText,  ///< numbers on links
  count
};

struct TokenInfo {
  Token token;
  const char* name;
  QRgb light;
  QRgb dark;
};

/// All tokens in the order of the enumeration.
[[nodiscard]] std::span<const TokenInfo> tokenTable();

/// The colours of one scheme: `colors[Token::accent]`.
class Colors {
public:
  explicit Colors(Scheme scheme);
  [[nodiscard]] const QColor& operator[](Token token) const { return m_values[static_cast<std::size_t>(token)]; }
  [[nodiscard]] Scheme scheme() const { return m_scheme; }
  [[nodiscard]] bool isDark() const { return m_scheme == Scheme::dark; }

private:
  Scheme m_scheme;
  std::array<QColor, static_cast<std::size_t>(Token::count)> m_values;
};

/// The two sets, made once.
[[nodiscard]] const Colors& colorsOf(Scheme scheme);

/// A mixture, linear in sRGB: 0 = a, 1 = b.
[[nodiscard]] QColor mixed(const QColor& a, const QColor& b, double share);

/// Contrast ratio 1 to 21. Source: WCAG 2.2, "relative luminance" and "contrast ratio".
[[nodiscard]] double contrast(const QColor& a, const QColor& b);

}  // namespace coppice::designer
