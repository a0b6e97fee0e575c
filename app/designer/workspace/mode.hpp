// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <array>

namespace coppice::designer {

/// What the window shows beside the drawing; document, selection and zoom stay when it changes.
enum class Mode { draw, analyse, schedule, run };
inline constexpr std::array<Mode, 4> kModes{Mode::draw, Mode::analyse, Mode::schedule, Mode::run};

/// "draw", for settings and action ids.
[[nodiscard]] QString nameOf(Mode mode);

}  // namespace coppice::designer
