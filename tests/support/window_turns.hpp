// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QObject>
#include <QThread>
#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace coppice::test {

/// Processor time of this thread, ms.
inline double threadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// The longest turn of the window's thread that nobody notices, ms of processor time: 100, or on a slow machine in
/// proportion to the time that it takes for a small piece of work.
inline double longestTurn() {
  constexpr double kUsual = 8;  // ms for the work below
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double before = threadTime();
    std::minstd_rand random(1);
    std::vector<unsigned> numbers(100'000);
    std::generate(numbers.begin(), numbers.end(), random);
    const std::set<unsigned> tree(numbers.begin(), numbers.begin() + 20'000);
    std::sort(numbers.begin(), numbers.end());
    best = std::min(best, tree.empty() ? best : threadTime() - before);
  }
  return 100 * std::max(1.0, best / kUsual);
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
