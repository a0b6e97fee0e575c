// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "lowering/lowering.hpp"

namespace coppice::designer {

/// "coppice-cli export SCHEDULE …"
[[nodiscard]] QString exportCommand(const QString& schedulePath, const lowering::Options& options,
                                    const QString& outputPath);

}  // namespace coppice::designer
