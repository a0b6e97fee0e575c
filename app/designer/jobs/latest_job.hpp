// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QFutureWatcher>
#include <QObject>
#include <QPromise>
#include <QThreadPool>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace coppice::designer {

/// Runs one kind of work on other threads, the latest work only: newer work stops the running work (after a short
/// grace, so that work that is nearly done gets done while the user drags a slider) and takes its place. Answers arrive
/// on the thread of this object, in order. Destruction stops the work and does not wait for it.
template <typename Answer>
class LatestJob {
public:
  using Work = std::function<Answer(std::stop_token)>;

  /// onAnswer gets every answer that was not stopped. @param grace see above @param threads must outlive this
  LatestJob(std::function<void(Answer)> onAnswer, std::chrono::milliseconds grace,
            QThreadPool* threads = QThreadPool::globalInstance())
      : m_onAnswer(std::move(onAnswer)), m_grace(grace), m_threads(threads) {
    m_cancelTimer.setSingleShot(true);
    QObject::connect(&m_cancelTimer, &QTimer::timeout, &m_context, [this] { m_stop.request_stop(); });
    QObject::connect(&m_watcher, &QFutureWatcherBase::finished, &m_context, [this] { onFinished(); });
  }
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;
  ~LatestJob() { m_stop.request_stop(); }

  /// The work must hold all that it needs: it may outlive its caller.
  void submit(Work work) {
    m_waiting = std::move(work);
    if (!m_isRunning) {
      startWaiting();
    } else if (!m_cancelTimer.isActive()) {
      const std::chrono::milliseconds left = m_grace - std::chrono::milliseconds(m_clock.elapsed());
      m_cancelTimer.start(std::max(left, std::chrono::milliseconds(0)));
    }
  }
  /// Stops what runs and forgets what waits. No answer follows.
  void cancel() {
    m_waiting = nullptr;
    m_isAbandoned = m_isRunning;
    m_stop.request_stop();
  }
  [[nodiscard]] bool isRunning() const { return m_isRunning; }

private:
  void startWaiting() {
    m_stop = std::stop_source();
    m_isRunning = true;
    m_isAbandoned = false;
    m_clock.start();
    auto promise = std::make_shared<QPromise<Answer>>();
    m_watcher.setFuture(promise->future());
    m_threads->start([promise, work = std::exchange(m_waiting, nullptr), token = m_stop.get_token()] {
      promise->start();
      Answer answer = work(token);
      if (!token.stop_requested()) {
        promise->addResult(std::move(answer));
      }
      promise->finish();
    });
  }

  void onFinished() {
    m_cancelTimer.stop();
    m_isRunning = false;
    const QFuture<Answer> future = m_watcher.future();
    const bool hasAnswer = future.resultCount() > 0 && !m_isAbandoned;
    // Before the next one starts, which would replace the future.
    if (hasAnswer) {
      Answer answer = future.result();
      if (m_waiting) {
        startWaiting();
      }
      m_onAnswer(std::move(answer));
    } else if (m_waiting) {
      startWaiting();
    }
  }

  QObject m_context;
  std::function<void(Answer)> m_onAnswer;
  std::chrono::milliseconds m_grace;
  QThreadPool* m_threads;
  QFutureWatcher<Answer> m_watcher;
  QTimer m_cancelTimer;
  QElapsedTimer m_clock;
  std::stop_source m_stop;
  Work m_waiting;
  bool m_isRunning = false;
  bool m_isAbandoned = false;
};

}  // namespace coppice::designer
