// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "base/duration.hpp"

namespace coppice::designer {

/// "512 ns", "12.3 µs", "4.567 ms", "13.92 s": four digits.
[[nodiscard]] QString timeText(double nanoseconds);
[[nodiscard]] QString timeText(Microseconds time);

}  // namespace coppice::designer
