// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace coppice {

/// Thrown when work has reached the limit that it was given.
struct WorkLimitReached {};

/// Counts steps of work (arcs looked at, about) against a limit. Unlike a clock it stops the same work at the same
/// place on every machine, so that what is chosen by such limits does not depend on timing. Threads may share one.
class WorkMeter {
public:
  explicit WorkMeter(std::uint64_t limit) : m_limit(limit) {}

  /// Throws WorkLimitReached.
  void spend(std::uint64_t steps) {
    if (m_spent.fetch_add(steps, std::memory_order_relaxed) + steps > m_limit) {
      throw WorkLimitReached{};
    }
  }

private:
  std::uint64_t m_limit;
  std::atomic<std::uint64_t> m_spent = 0;
};

}  // namespace coppice
