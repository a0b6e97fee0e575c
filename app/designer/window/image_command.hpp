// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "base/result.hpp"
#include "designer/window/command_line.hpp"

namespace coppice::designer {

/// Draws one fabric into a file as the window would show it, without a window. Needs a QApplication with the theme
/// applied; runs an event loop while the bound is computed.
/// Errors: of reading and of savePicture; badUsage for names that select nothing; infeasible where there is no bound
/// to draw in analyse mode.
[[nodiscard]] Outcome exportImage(const ImageRequest& request);

/// What a program exits with: 0 is success, 1 a negative answer, 2 bad usage or input.
[[nodiscard]] int exitCodeOf(const Error& error);

}  // namespace coppice::designer
