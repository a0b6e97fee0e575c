// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QObject>
#include <QThread>
#include <algorithm>
#include <ctime>
#include <functional>

namespace coppice::test {

/// Processor time of this thread, ms.
inline double threadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// How long the window's thread computes between two waits for events. Processor time, so that other programs on the
/// machine do not count.
class WindowTurns {
public:
  WindowTurns() {
    QAbstractEventDispatcher* dispatcher = QAbstractEventDispatcher::instance();
    QObject::connect(dispatcher, &QAbstractEventDispatcher::awake, &m_context, [this] { m_since = threadTime(); });
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, &m_context,
                     [this] { m_longest = std::max(m_longest, threadTime() - m_since); });
  }

  /// The longest turn, ms, from the begin of the work until `isDone` holds.
  double longest(const std::function<void()>& work, const std::function<bool()>& isDone) {
    const double before = threadTime();
    work();
    m_longest = threadTime() - before;
    while (!isDone()) {
      m_since = threadTime();
      QCoreApplication::processEvents();
      m_longest = std::max(m_longest, threadTime() - m_since);
      QThread::msleep(1);
    }
    return m_longest;
  }

private:
  QObject m_context;
  double m_since = threadTime();
  double m_longest = 0;
};

}  // namespace coppice::test
