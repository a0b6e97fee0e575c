// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace coppice::designer {

/// How well typed text fits a title: letters in order, better at the beginnings of words and in a row; below 0 = not at
/// all. Case does not count.
[[nodiscard]] int fuzzyScore(const QString& typed, const QString& title);

}  // namespace coppice::designer
