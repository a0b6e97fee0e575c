// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTest>
#include <algorithm>
#include <cmath>

#include "base/duration.hpp"
#include "base/throughput.hpp"

/// Simulated figures beside worked ones.
namespace coppice::test {

/// Microseconds, GB/s or a plain number.
[[nodiscard]] inline double plain(double value) {
  return value;
}
[[nodiscard]] inline double plain(Microseconds time) {
  return time.count();
}
[[nodiscard]] inline double plain(Throughput throughput) {
  return throughput.gigabytesPerSecond();
}

[[nodiscard]] inline bool isClose(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace coppice::test

#define COMPARE_TIME(actual, expected)                                                           \
  QVERIFY2(coppice::test::isClose(coppice::test::plain(actual), coppice::test::plain(expected)), \
           qPrintable(QString("%1 instead of %2")                                                \
                          .arg(coppice::test::plain(actual), 0, 'g', 17)                         \
                          .arg(coppice::test::plain(expected), 0, 'g', 17)))
