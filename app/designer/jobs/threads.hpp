// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QThreadPool>
#include <chrono>

namespace coppice::designer {

/// Threads of their own for work that must not wait behind schedules and searches, which can fill the global pool.
[[nodiscard]] QThreadPool* boundThreads();
[[nodiscard]] QThreadPool* routingThreads();
/// One thread of low priority, for the pictures and bounds of cards.
[[nodiscard]] QThreadPool* cardThreads();
/// For jobs that write files. The program waits for them when it ends, and for no others.
[[nodiscard]] QThreadPool* writingThreads();

/// Waits until nothing runs but what writes files. @return false: something still runs after that time.
[[nodiscard]] bool waitForComputations(std::chrono::milliseconds patience);

}  // namespace coppice::designer
