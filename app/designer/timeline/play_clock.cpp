// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/timeline/play_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace coppice::designer {

using namespace std::chrono_literals;

PlayClock::PlayClock(QObject* parent) : QObject(parent) {
  m_frame.setTimerType(Qt::PreciseTimer);
  m_frame.setInterval(16ms);
  connect(&m_frame, &QTimer::timeout, this, [this] {
    constexpr double kMilliseconds = 1000;
    advance(static_cast<double>(m_since.restart()) / kMilliseconds);
  });
}

void PlayClock::setEnd(double end) {
  const bool isWanted = m_playsWhenKnown;
  m_end = std::max(0.0, end);
  setTime(std::nullopt);
  Q_EMIT endChanged();
  if (isWanted) {
    setPlaying(true);  // or goes on waiting
  }
}

void PlayClock::setTime(std::optional<double> time) {
  if (m_end <= 0) {
    time.reset();
  }
  if (time) {
    time = std::clamp(*time, 0.0, m_end);
  } else {
    setPlaying(false);
  }
  if (m_time != time) {
    m_time = time;
    Q_EMIT timeChanged();
  }
}

void PlayClock::setPlaying(bool isWanted) {
  m_playsWhenKnown = isWanted && m_end <= 0;
  if (isWanted == isPlaying() || m_playsWhenKnown) {
    return;
  }
  if (isWanted) {
    if (!m_time || *m_time >= m_end) {
      setTime(0);
    }
    m_since.start();
    m_frame.start();
  } else {
    m_frame.stop();
  }
  Q_EMIT playingChanged();
}

void PlayClock::advance(double seconds) {
  const double next = m_time.value_or(0) + seconds / kSecondsPerRun * m_speed * m_end;
  if (next < m_end) {
    setTime(next);
  } else if (m_isLooped && m_end > 0) {
    setTime(std::fmod(next, m_end));
  } else {
    setTime(m_end);
    setPlaying(false);
  }
}

}  // namespace coppice::designer
