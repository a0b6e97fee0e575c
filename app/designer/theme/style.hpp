// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPalette>
#include <QString>

#include "designer/theme/tokens.hpp"

class QApplication;
class QWidget;

namespace coppice::designer {

[[nodiscard]] QPalette paletteOf(const Colors& colors);
/// What a palette cannot express: hairlines, radii, spaces. Widgets are selected by their class and by the dynamic
/// property "role": "primary" (QPushButton, QToolButton: filled with the accent), "chip" (round), "section", "muted",
/// "good", "warning" and "error" (QLabel), "panel" (QWidget, QFrame: surface of a dock), "bar" (QToolBar, QWidget: a
/// bar of the window).
[[nodiscard]] QString styleSheetOf(const Colors& colors);
/// Fusion with both, and the body font.
void applyStyle(QApplication& application, const Colors& colors);
/// Gives a widget that is shown already another role; empty = none. Unlike a style sheet of its own, a role follows the
/// theme.
void setRole(QWidget* widget, const QString& role);

}  // namespace coppice::designer
