// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace coppice::designer {

/// "A" for 0, "B" for 1: which of two schedules that are compared.
[[nodiscard]] inline QString sideLetter(int side) {
  return QString(QChar(static_cast<char16_t>(u'A' + side)));
}

}  // namespace coppice::designer
