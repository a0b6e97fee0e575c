// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>

#include "base/result.hpp"
#include "designer/run/executor_files.hpp"
#include "program/run_job.hpp"
#include "remote/bundle.hpp"

namespace coppice::designer {

/// Writes a launch bundle: a new folder, or a tar archive where the path ends in ".tar" or ".tar.gz". What stands there
/// is replaced only if it is a file. @param executor  nullptr = the bundle says how to get it Errors: io, badUsage (the
/// folder is there and not empty; a choice is wrong).
Outcome writeBundle(const QString& path, const program::RunRequest& request, const remote::BundleFacts& facts,
                    const QByteArray& schedule, const ExecutorFiles* executor);

}  // namespace coppice::designer
