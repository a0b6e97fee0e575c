// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <string>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

/// Numbers as the window writes them.
namespace coppice::designer {

/// "346.67"
[[nodiscard]] QString decimal(const Rational& value, int places = 2);
[[nodiscard]] QString decimal(const Bandwidth& value, int places = 2);
/// "254,000": rounded to a whole.
[[nodiscard]] QString grouped(const Rational& value);
/// "346.67 GB/s", "25,600 GB/s"
[[nodiscard]] QString gigabytes(const Bandwidth& value);
/// "346.67 = 1040/3", or "300" where that is exact.
[[nodiscard]] QString exactly(const Rational& value);
/// The same of the GB/s.
[[nodiscard]] QString exactly(const Bandwidth& value);
/// "98.4 %". Says 100 % only where part equals the whole, and 0 % only for nothing. Infinite for whole 0: "–".
[[nodiscard]] QString percentOf(const Rational& part, const Rational& whole);
[[nodiscard]] QString percentOf(const Bandwidth& part, const Bandwidth& whole);
/// "0.42 s", "1 min 5 s".
[[nodiscard]] QString duration(double seconds);
/// "64 KiB", "1 GiB", "1000 bytes": the largest unit that divides it.
[[nodiscard]] QString bytesText(std::int64_t bytes);
/// "64 KiB", "1.333 GiB": four digits.
[[nodiscard]] QString roughBytes(double bytes);
/// "64KiB", "1 GiB", "1000"; units B, KB, MB, GB, TB, KiB, MiB, GiB, TiB. Errors: badInput, overflow.
[[nodiscard]] Result<std::int64_t> parseBytes(const QString& text);

}  // namespace coppice::designer
