// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QThread>
#include <QThreadPool>

/// Waits for what happens, not for a time.
namespace coppice::waiting {

/// How long to wait for what has to come, ms: far more than it takes on the slowest machine. Waits end when it has come.
inline constexpr int kPatience = 240'000;

/// Until the jobs of the pool have ended and their answers are taken. What has not happened then will not happen without
/// another cause; timers that are set for later are such a cause.
inline void settle() {
  constexpr int kQuietRounds = 2;  // an answer may start another job
  for (int quiet = 0; quiet < kQuietRounds;) {
    QCoreApplication::processEvents();
    quiet = QThreadPool::globalInstance()->activeThreadCount() == 0 ? quiet + 1 : 0;
    if (quiet == 0) {
      QThread::msleep(1);
    }
  }
  QCoreApplication::processEvents();
}

}  // namespace coppice::waiting
