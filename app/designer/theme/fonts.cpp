// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/fonts.hpp"

#include <QFontDatabase>
#include <QString>
#include <QStringList>

// Resources of a static library have to be asked for, outside any namespace.
static void initFonts() {
  Q_INIT_RESOURCE(fonts);
}

namespace coppice::designer {
namespace {

QFont sized(const QStringList& families, QFont::StyleHint hint, double pixels, QFont::Weight weight) {
  QFont font;
  font.setFamilies(families);
  font.setStyleHint(hint);
  font.setWeight(weight);
  font.setPixelSize(qMax(1, qRound(pixels)));
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

}  // namespace

bool loadFonts() {
  static const bool isLoaded = [] {
    // What asks for bold gets SemiBold as it is, the heaviest here: Qt would draw it twice, side by side, which smears.
    qputenv("QT_NO_SYNTHESIZED_BOLD", "1");
    initFonts();
    bool isGood = true;
    for (const char* name : {"Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf", "JetBrainsMono-Regular.ttf",
                             "JetBrainsMono-Medium.ttf"}) {
      isGood = QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") + QLatin1String(name)) >= 0 && isGood;
    }
    return isGood;
  }();
  return isLoaded;
}

QFont uiFont(double pixels, QFont::Weight weight) {
  return sized({QStringLiteral("Inter")}, QFont::SansSerif, pixels, weight);
}

QFont figureFont(double pixels, QFont::Weight weight) {
  return sized({QStringLiteral("JetBrains Mono")}, QFont::Monospace, pixels, weight);
}

QFont sectionFont() {
  QFont font = uiFont(10.5, QFont::DemiBold);
  font.setCapitalization(QFont::AllUppercase);
  font.setLetterSpacing(QFont::AbsoluteSpacing, 0.4);
  return font;
}

}  // namespace coppice::designer
