// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QThreadPool>

namespace coppice::designer {

/// For jobs that write files. The program waits for them when it ends, and for no others.
[[nodiscard]] inline QThreadPool& writingThreads() {
  static QThreadPool threads;
  return threads;
}

}  // namespace coppice::designer
