// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/plurals.hpp"

#include <QLatin1String>

namespace coppice::designer {

QString Plurals::translate(const char* /*context*/, const char* source, const char* /*disambiguation*/, int n) const {
  constexpr QLatin1String kMark("(s)");
  // A null string is "not translated here", and the source text is used. Qt fills in %n.
  if (n < 0 || source == nullptr) {
    return {};
  }
  QString text = QString::fromUtf8(source);
  return text.contains(kMark) ? text.replace(kMark, n == 1 ? QLatin1String() : QLatin1String("s")) : QString();
}

}  // namespace coppice::designer
