// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "lowering/lowering.hpp"

namespace coppice::designer {

/// "coppice-cli export SCHEDULE …"
[[nodiscard]] QString exportCommand(const QString& schedulePath, const lowering::Options& options,
                                    const QString& outputPath, std::string_view target = {});

/// A name for a program of the schedule that needs no quotes in MSCCL_XML_FILES: "allgather-k10" of "AllGather, 160
/// trees".
/// @param treesPerRoot 0: the schedule has none
[[nodiscard]] QString programName(const QString& schedule, std::int64_t treesPerRoot);

}  // namespace coppice::designer
