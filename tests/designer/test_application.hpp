// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>

#include "designer/theme/theme.hpp"

namespace coppice::designer::test {

/// Settings that no other run shares, the theme of the program, and no animation.
inline void prepareApplication(const char* name) {
  QCoreApplication::setOrganizationName(QStringLiteral("coppice-test"));
  QCoreApplication::setApplicationName(
      QStringLiteral("coppice-%1-%2").arg(QLatin1String(name)).arg(QCoreApplication::applicationPid()));
  Theme::instance().applyTo(*qobject_cast<QApplication*>(QCoreApplication::instance()));
  Theme::instance().setAnimated(false);
}

/// The look of plain widgets in light colours, for tests that measure them.
inline bool useLightFusion() {
  const bool isSet = QApplication::setStyle(QStringLiteral("fusion")) != nullptr;
  Theme::instance().setChoice(SchemeChoice::light);
  Theme::instance().setAnimated(false);
  return isSet;
}

}  // namespace coppice::designer::test
