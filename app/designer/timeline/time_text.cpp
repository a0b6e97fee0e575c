// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString timeText(double nanoseconds) {
  constexpr double kSecond = 1e9;
  constexpr double kMillisecond = 1e6;
  constexpr double kMicrosecond = 1e3;
  constexpr int kDigits = 4;
  if (nanoseconds >= kSecond) {
    return QString::number(nanoseconds / kSecond, 'g', kDigits) + u" s"_s;
  }
  if (nanoseconds >= kMillisecond) {
    return QString::number(nanoseconds / kMillisecond, 'g', kDigits) + u" ms"_s;
  }
  if (nanoseconds >= kMicrosecond) {
    return QString::number(nanoseconds / kMicrosecond, 'g', kDigits) + u" µs"_s;
  }
  return QString::number(nanoseconds, 'f', 0) + u" ns"_s;
}

QString timeText(Microseconds time) {
  constexpr double kNanoseconds = 1000;  // in a microsecond
  return timeText(time.count() * kNanoseconds);
}

}  // namespace coppice::designer
