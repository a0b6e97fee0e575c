// SPDX-License-Identifier: Apache-2.0
#include "remote/run_watch.hpp"

namespace coppice::remote {

void RunWatch::hear(Time now) {
  m_lastWord = now;
  m_hasHeard = true;
}

RunWatch::Acts RunWatch::tick(Time now) {
  constexpr auto kPing = std::chrono::seconds(5);
  const Limits& limits = m_options.limits;
  Acts acts;
  if (m_isStopWanted && !m_asked) {
    m_asked = now;
    acts.cancel = true;
  } else if (m_asked) {
    // A machine that was silent before will hardly answer now.
    if (now - *m_asked > (m_isSilent ? limits.leave : limits.stop)) {
      m_isAbandoned = true;
      acts.kill = true;
    }
  } else if (m_options.leavesAfterHello && m_hasBegun) {
    if (!m_left) {
      m_left = now;
      acts.closeInput = true;
    } else if (now - *m_left > limits.stop) {
      acts.kill = true;
    }
  } else if (now - m_pinged > kPing) {
    m_pinged = now;
    acts.ping = true;
  }
  if (m_options.expectsWords) {
    watchSilence(now, acts);
  }
  return acts;
}

void RunWatch::watchSilence(Time now, Acts& acts) {
  const Limits& limits = m_options.limits;
  const auto silence = now - m_lastWord;
  if (!m_hasHeard && silence > limits.start) {
    m_isLate = true;
    acts.kill = true;
  } else if (m_hasHeard && silence > limits.lost) {
    m_isLost = true;
    acts.kill = true;
  }
  if (m_isSilent && silence < limits.silence) {
    m_isSilent = false;
    acts.answersAgain = true;
  } else if (!m_isSilent && silence > limits.silence) {
    m_isSilent = true;
    acts.fellSilent = true;
  }
}

}  // namespace coppice::remote
