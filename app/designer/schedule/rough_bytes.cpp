// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/rough_bytes.hpp"

#include <QCoreApplication>
#include <QStringList>

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString roughBytes(double bytes) {
  constexpr double kKibi = 1024;
  constexpr double kTen = 10;
  constexpr double kHundred = 100;
  const QStringList units{QCoreApplication::translate("Schedule", "bytes"), u"KiB"_s, u"MiB"_s, u"GiB"_s, u"TiB"_s};
  qsizetype unit = 0;
  while (bytes >= kKibi && unit + 1 < units.size()) {
    bytes /= kKibi;
    ++unit;
  }
  const int places = unit == 0 || bytes >= kHundred ? 0 : bytes >= kTen ? 1 : 2;
  return QString::number(bytes, 'f', places) + u' ' + units[unit];
}

}  // namespace coppice::designer
