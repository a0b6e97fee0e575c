// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace coppice::designer {

/// "1 link", "3 links": how many of a noun, which the caller gives in both numbers (translated).
[[nodiscard]] inline QString counted(qsizetype count, const QString& one, const QString& many) {
  return QString::number(count) + QLatin1Char(' ') + (count == 1 ? one : many);
}

}  // namespace coppice::designer
