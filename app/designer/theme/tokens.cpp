// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/tokens.hpp"

#include <algorithm>
#include <cmath>

namespace coppice::designer {
namespace {

constexpr std::array<TokenInfo, static_cast<std::size_t>(Token::count)> kTable{{
    {Token::window, "window", 0xFFF4F5F3, 0xFF171B19},
    {Token::panel, "panel", 0xFFFBFBFA, 0xFF1E2321},
    {Token::canvas, "canvas", 0xFFFFFFFF, 0xFF131715},
    {Token::field, "field", 0xFFFFFFFF, 0xFF131715},
    {Token::hover, "hover", 0xFFEDEFEC, 0xFF2A312E},
    {Token::room, "room", 0xFFF7F8F6, 0xFF191E1C},
    {Token::grid, "grid", 0xFFE1E4DF, 0xFF262D2A},
    {Token::line, "line", 0xFFDDE0DB, 0xFF303834},
    {Token::boxLine, "boxLine", 0xFFCDD3CE, 0xFF38413C},
    {Token::text, "text", 0xFF1E2421, 0xFFE6EBE8},
    {Token::muted, "muted", 0xFF626C66, 0xFF9BA6A0},
    {Token::faint, "faint", 0xFF7F8882, 0xFF75807A},
    {Token::accent, "accent", 0xFF1F7A56, 0xFF49B585},
    {Token::accentSoft, "accentSoft", 0xFFE3F1EA, 0xFF1F3A2F},
    {Token::onAccent, "onAccent", 0xFFFFFFFF, 0xFF0E1A14},
    {Token::cut, "cut", 0xFFB84607, 0xFFFF8A47},
    {Token::cutSoft, "cutSoft", 0xFFFBE9DD, 0xFF3A2417},
    {Token::onCut, "onCut", 0xFFFFFFFF, 0xFF24130A},
    {Token::error, "error", 0xFFB3261E, 0xFFFF8A80},
    {Token::warning, "warning", 0xFF8A5A00, 0xFFE0B04A},
    {Token::gpuFill, "gpuFill", 0xFFE7F1EC, 0xFF1D3028},
    {Token::gpuLine, "gpuLine", 0xFF2A7556, 0xFF5CBF93},
    {Token::switchFill, "switchFill", 0xFFE8EDF6, 0xFF202A40},
    {Token::switchLine, "switchLine", 0xFF3C5A99, 0xFF8CA6E0},
    {Token::nicFill, "nicFill", 0xFFF3EEE2, 0xFF332B18},
    {Token::nicLine, "nicLine", 0xFF826829, 0xFFCDA955},
    {Token::unknownFill, "unknownFill", 0xFFF1F1F1, 0xFF2A2A2A},
    {Token::unknownLine, "unknownLine", 0xFF6B6B6B, 0xFFB0B0B0},
    {Token::noteFill, "noteFill", 0xFFFDF9EC, 0xFF26241B},
    {Token::link, "link", 0xFFAEB7B1, 0xFF55605A},
    {Token::linkText, "linkText", 0xFF66706A, 0xFF98A39D},
}};

double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

}  // namespace

std::span<const TokenInfo> tokenTable() {
  return kTable;
}

Colors::Colors(Scheme scheme) : m_scheme(scheme) {
  for (const TokenInfo& info : kTable) {
    m_values[static_cast<std::size_t>(info.token)] = QColor::fromRgb(scheme == Scheme::dark ? info.dark : info.light);
  }
}

const Colors& colorsOf(Scheme scheme) {
  static const Colors light(Scheme::light);
  static const Colors dark(Scheme::dark);
  return scheme == Scheme::dark ? dark : light;
}

QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](float x, float y) { return static_cast<float>(x + (y - x) * share); };
  return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()),
                          mix(a.alphaF(), b.alphaF()));
}

double contrast(const QColor& a, const QColor& b) {
  const double x = luminance(a);
  const double y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace coppice::designer
