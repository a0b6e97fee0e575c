// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "lp/modular.hpp"

namespace coppice::lp {

/// Asks a StopTest after equal amounts of work, however large the single pieces are: so that a cancel is heard within
/// some milliseconds in small programs and large ones.
class StopPoll {
public:
  /// Numbers that are touched between two questions.
  static constexpr std::size_t kWorkPerQuestion = 1'000'000;

  explicit StopPoll(const StopTest& stop) : m_stop(stop) {}
  StopPoll(const StopPoll&) = delete;
  StopPoll& operator=(const StopPoll&) = delete;
  ~StopPoll() {
    if (!m_isStopped && m_work > 0) {
      (void)m_stop(m_work);  // what is left counts too
    }
  }

  /// Whether to stop; asked at the first call. Once true, always true.
  bool spend(std::size_t work) {
    m_work += work;
    if (!m_isStopped && (m_isFirst || m_work >= kWorkPerQuestion)) {
      m_isFirst = false;
      m_isStopped = m_stop(std::exchange(m_work, 0));
    }
    return m_isStopped;
  }

private:
  const StopTest& m_stop;
  std::size_t m_work = 0;
  bool m_isFirst = true;
  bool m_isStopped = false;
};

}  // namespace coppice::lp
