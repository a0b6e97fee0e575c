// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>

namespace coppice::designer {

/// Makes the bundled Inter and JetBrains Mono known to the program. Call once, after the application exists; more often
/// does no harm. Returns false if a file could not be read (the system's fonts are used then).
bool loadFonts();

/// Text, by default at the size of body text. Sizes are in pixels of 1x.
[[nodiscard]] QFont uiFont(double pixels = 13, QFont::Weight weight = QFont::Normal);
/// Numbers and names of things in tables: fixed width.
[[nodiscard]] QFont figureFont(double pixels = 12, QFont::Weight weight = QFont::Normal);
/// Heads of sections: small, bold, spaced, in capitals.
[[nodiscard]] QFont sectionFont();

}  // namespace coppice::designer
