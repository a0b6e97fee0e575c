// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLocale>
#include <QString>

namespace coppice::designer {

/// Thousands are told apart from here on: "9216", "65,536".
constexpr qsizetype kLeastGrouped = 10'000;

/// "1 link", "3 links", "65,536 links": how many of a noun, which the caller gives in both numbers (translated).
[[nodiscard]] inline QString counted(qsizetype count, const QString& one, const QString& many) {
  const QString number = count < kLeastGrouped ? QString::number(count) : QLocale(QLocale::English).toString(count);
  return number + QLatin1Char(' ') + (count == 1 ? one : many);
}

}  // namespace coppice::designer
