// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace coppice::designer {

/// "91.3 KiB", "512 bytes": three digits.
[[nodiscard]] QString roughBytes(double bytes);

}  // namespace coppice::designer
