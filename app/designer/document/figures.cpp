// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/figures.hpp"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/counted.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct FigureTexts {
  Q_DECLARE_TR_FUNCTIONS(Schedule)
};

constexpr std::int64_t kKibi = 1024;

struct Unit {
  const char* name;
  std::int64_t bytes;
};

constexpr std::array<Unit, 9> kUnits{{{"TiB", kKibi* kKibi* kKibi* kKibi},
                                      {"GiB", kKibi* kKibi* kKibi},
                                      {"MiB", kKibi* kKibi},
                                      {"KiB", kKibi},
                                      {"TB", 1'000'000'000'000},
                                      {"GB", 1'000'000'000},
                                      {"MB", 1'000'000},
                                      {"KB", 1'000},
                                      {"B", 1}}};

}  // namespace

QString decimal(const Rational& value, int places) {
  return QString::fromStdString(toDecimal(value, places));
}

QString decimal(const Bandwidth& value, int places) {
  return decimal(value.gigabytesPerSecond(), places);
}

QString grouped(const Rational& value) {
  return QLocale(QLocale::English).toString(value.toDouble(), 'f', 0);
}

QString gigabytes(const Bandwidth& value) {
  QString text = decimal(value);
  if (value.gigabytesPerSecond() >= Rational(kLeastGrouped)) {
    constexpr qsizetype kThousand = 3;
    const qsizetype point = text.indexOf(u'.');
    for (qsizetype at = (point < 0 ? text.size() : point) - kThousand; at > 0; at -= kThousand) {
      text.insert(at, u',');
    }
  }
  return text + u" GB/s"_s;
}

QString exactly(const Rational& value) {
  const QString fraction = QString::fromStdString(value.toString());
  return value.isInteger() ? fraction : decimal(value) + u" = "_s + fraction;
}

QString exactly(const Bandwidth& value) {
  return exactly(value.gigabytesPerSecond());
}

QString percentOf(const Rational& part, const Rational& whole) {
  if (whole.isZero()) {
    return u"–"_s;
  }
  if (part == whole) {
    return u"100 %"_s;
  }
  if (part.isZero()) {
    return u"0 %"_s;
  }
  constexpr double kHundred = 100;
  constexpr double kTen = 10;
  const double percent = kHundred * part.toDouble() / whole.toDouble();
  // Rounded away from the whole and from nothing, which would be untrue.
  const double tenths = part < whole ? std::floor(percent * kTen) / kTen : std::ceil(percent * kTen) / kTen;
  return QString::number(std::max(tenths, 0.1), 'f', 1) + u" %"_s;
}

QString percentOf(const Bandwidth& part, const Bandwidth& whole) {
  return percentOf(part.gigabytesPerSecond(), whole.gigabytesPerSecond());
}

QString duration(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kMin = 0.01;
  if (seconds < kMin) {
    return u"<0.01 s"_s;
  }
  if (seconds < kMinute) {
    return QString::number(seconds, 'f', seconds < 1 ? 2 : 1) + u" s"_s;
  }
  const auto whole = static_cast<std::int64_t>(seconds);
  return u"%1 min %2 s"_s.arg(whole / 60).arg(whole % 60);
}

QString bytesText(std::int64_t bytes) {
  for (const Unit& unit : kUnits) {
    const bool isBinary = QLatin1StringView(unit.name).contains(u'i');
    if (isBinary && bytes != 0 && bytes % unit.bytes == 0) {
      return QString::number(bytes / unit.bytes) + u' ' + QLatin1String(unit.name);
    }
  }
  return QString::number(bytes) + u' ' + FigureTexts::tr("bytes");
}

QString roughBytes(double bytes) {
  static constexpr std::array kSteps{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < kKibi) {
    return QString::number(bytes, 'f', 0) + u' ' + FigureTexts::tr("bytes");
  }
  std::size_t unit = 0;
  for (bytes /= kKibi; bytes >= kKibi && unit + 1 < kSteps.size(); bytes /= kKibi) {
    ++unit;
  }
  constexpr int kDigits = 4;
  return QString::number(bytes, 'g', kDigits) + u' ' + QLatin1String(kSteps[unit]);
}

Result<std::int64_t> parseBytes(const QString& text) {
  const QString plain = text.trimmed();
  const Error wrong{ErrorCode::badInput, FigureTexts::tr("“%1” is not a size").arg(plain.left(40)).toStdString(),
                    FigureTexts::tr("write for example 64 KiB, 1 GiB or 1000000").toStdString()};
  qsizetype digits = 0;
  while (digits < plain.size() && (plain[digits].isDigit() || plain[digits] == u'.')) {
    ++digits;
  }
  QString word = plain.mid(digits).trimmed();
  if (word.isEmpty() || word.compare(u"bytes"_s, Qt::CaseInsensitive) == 0) {
    word = u"B"_s;
  }
  const auto number = Rational::parse(plain.left(digits).toStdString());
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& each) {
    return word.compare(QLatin1String(each.name), Qt::CaseInsensitive) == 0;
  });
  if (!number || unit == kUnits.end()) {
    return wrong;
  }
  try {
    const Rational bytes = *number * Rational(unit->bytes);
    if (!bytes.isInteger()) {
      return wrong;
    }
    return bytes.numerator();
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, FigureTexts::tr("“%1” is too large").arg(plain.left(40)).toStdString()};
  }
}

}  // namespace coppice::designer
