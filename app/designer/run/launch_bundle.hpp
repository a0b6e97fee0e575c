// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>

#include "base/result.hpp"
#include "program/run_job.hpp"
#include "remote/bundle.hpp"
#include "remote/executor_files.hpp"

namespace coppice::designer {

/// Writes a launch bundle: a new folder, or a tar archive where the path ends in ".tar", ".tar.gz" or ".tgz"; whole, or
/// not at all. An existing archive is replaced, a folder that is not empty is not.
/// @param executor  nullptr = the bundle says how to get it
/// Errors: io, badUsage (the folder is there and not empty; a choice is wrong).
Outcome writeBundle(const QString& path, const program::RunRequest& request, const remote::BundleFacts& facts,
                    const QByteArray& schedule, const remote::ExecutorFiles* executor);

}  // namespace coppice::designer
