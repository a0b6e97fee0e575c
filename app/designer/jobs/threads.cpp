// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/threads.hpp"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QThread>
#include <algorithm>
#include <array>

namespace coppice::designer {
namespace {

struct Pools {
  QThreadPool bound;
  QThreadPool routing;
  QThreadPool cards;
  QThreadPool writing;
  Pools();
};

Pools& pools() {
  static Pools all;
  return all;
}

Pools::Pools() {
  cards.setMaxThreadCount(1);
  cards.setThreadPriority(QThread::LowPriority);
  // No work outlives the application, as that of the global pool does not: pictures need it.
  qAddPostRoutine([] {
    for (QThreadPool* pool : {&pools().bound, &pools().routing, &pools().cards, &pools().writing}) {
      pool->waitForDone();
    }
  });
}

}  // namespace

QThreadPool* boundThreads() {
  return &pools().bound;
}

QThreadPool* routingThreads() {
  return &pools().routing;
}

QThreadPool* cardThreads() {
  return &pools().cards;
}

QThreadPool* writingThreads() {
  return &pools().writing;
}

bool waitForComputations(std::chrono::milliseconds patience) {
  const QDeadlineTimer end(patience);
  const std::array computing{QThreadPool::globalInstance(), boundThreads(), routingThreads(), cardThreads()};
  return std::ranges::all_of(
      computing, [&](QThreadPool* pool) { return pool->waitForDone(static_cast<int>(end.remainingTime())); });
}

}  // namespace coppice::designer
