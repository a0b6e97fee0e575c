// SPDX-License-Identifier: Apache-2.0
#include "simulate/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coppice::simulate {
namespace {

/// Relative difference of times and bytes that are equal but for rounding.
constexpr double kRounding = 1e-9;

void relativeTimers(double now, const std::vector<Timer>& timers, std::vector<Timer>& relative) {
  relative = timers;
  for (Timer& timer : relative) {
    timer.time -= now;
  }
  std::sort(relative.begin(), relative.end(), [](const Timer& a, const Timer& b) {
    return a.message != b.message ? a.message < b.message : a.kind != b.kind ? a.kind < b.kind : a.time < b.time;
  });
}

bool isClose(double a, double b, double scale) {
  return std::abs(a - b) <= kRounding * scale;
}

}  // namespace

SteadyState::SteadyState(const Job& job, std::uint32_t repeats) : m_job(job), m_repeats(repeats) {}

bool SteadyState::isDue(const std::vector<MessageState>& messages) {
  if (messages[m_clock].left == m_lastLeft) {
    return false;
  }
  m_lastLeft = messages[m_clock].left;
  if (m_lastLeft == m_repeats) {
    // Its row is over; any other that is not will do.
    const auto other = std::find_if(messages.begin(), messages.end(),
                                    [&](const MessageState& state) { return state.left < m_repeats; });
    m_clock = other == messages.end() ? m_clock : static_cast<MessageId>(other - messages.begin());
    m_lastLeft = messages[m_clock].left;
    m_isTaken = false;
  }
  return true;
}

std::optional<Period> SteadyState::look(double now, const std::vector<MessageState>& messages,
                                        const std::vector<Timer>& timers, const LinkSharing& sharing) {
  if (!isDue(messages)) {
    return std::nullopt;
  }
  if (!m_isTaken) {
    m_patience = 1;
    take(now, messages, timers, sharing);
    return std::nullopt;
  }
  ++m_looks;
  if (matches(now, messages, timers, sharing)) {
    Period period;
    period.time = now - m_snapshot.time;
    period.starts.resize(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      period.starts[i] = messages[i].started - m_snapshot.messages[i].started;
    }
    period.times = timesAgain(messages, period.starts);
    if (period.times > 0) {
      period.busy = sharing.busyUntil(now);
      std::transform(period.busy.begin(), period.busy.end(), m_snapshot.busy.begin(), period.busy.begin(),
                     std::minus<>());
      return period;
    }
  }
  if (m_looks == m_patience) {
    m_patience *= 2;
    take(now, messages, timers, sharing);
  }
  return std::nullopt;
}

void SteadyState::take(double now, const std::vector<MessageState>& messages, const std::vector<Timer>& timers,
                       const LinkSharing& sharing) {
  m_isTaken = true;
  m_looks = 0;
  m_snapshot.time = now;
  m_snapshot.messages = messages;
  relativeTimers(now, timers, m_snapshot.timers);
  sharing.flowsAt(now, m_snapshot.flows);
  m_snapshot.busy = sharing.busyUntil(now);
}

bool SteadyState::matches(double now, const std::vector<MessageState>& messages, const std::vector<Timer>& timers,
                          const LinkSharing& sharing) {
  if (timers.size() != m_snapshot.timers.size()) {
    return false;
  }
  sharing.flowsAt(now, m_flows);
  const double period = now - m_snapshot.time;
  const bool sameFlows = std::equal(m_flows.begin(), m_flows.end(), m_snapshot.flows.begin(), m_snapshot.flows.end(),
                                    [&](const FlowState& a, const FlowState& b) {
                                      return a.message == b.message &&
                                             isClose(a.left, b.left, period * std::max(a.rate, b.rate)) &&
                                             isClose(a.rate, b.rate, b.rate);
                                    });
  if (!sameFlows) {
    return false;
  }
  relativeTimers(now, timers, m_timers);
  const bool sameTimers =
      std::equal(m_timers.begin(), m_timers.end(), m_snapshot.timers.begin(), [&](const Timer& a, const Timer& b) {
        return a.message == b.message && a.kind == b.kind && isClose(a.time, b.time, period);
      });
  return sameTimers && std::equal(messages.begin(), messages.end(), m_snapshot.messages.begin(),
                                  [&](const MessageState& a, const MessageState& b) {
                                    const bool isOver = a.started == m_repeats;
                                    return a.started - a.left == b.started - b.left &&
                                           a.left - a.arrived == b.left - b.arrived &&
                                           isOver == (b.started == m_repeats) && (isOver || a.pending == b.pending);
                                  });
}

std::uint32_t SteadyState::timesAgain(const std::vector<MessageState>& messages,
                                      const std::vector<std::uint32_t>& starts) const {
  std::int64_t times = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (starts[i] > 0) {
      times = std::min<std::int64_t>(times, (m_repeats - messages[i].started) / starts[i]);
    }
  }
  for (const Dependency& dependency : m_job.dependencies()) {
    const MessageState& after = messages[dependency.after];
    const MessageState& before = messages[dependency.before];
    const std::int64_t outrun = std::int64_t{starts[dependency.after]} - starts[dependency.before];
    const std::uint32_t done = endsOnArrival(dependency.why) ? before.arrived : before.left;
    if (outrun == 0 || after.started == m_repeats || done == m_repeats) {
      continue;
    }
    // Starts that what has been done allows. All of the next period, and one more, must be among them.
    const std::int64_t lead = std::int64_t{done} + dependency.delay - after.started;
    const std::int64_t needed = std::int64_t{starts[dependency.after]} + 1;
    if (lead < needed || lead + outrun < needed) {  // now, or when the period that is known began
      return 0;
    }
    if (outrun > 0) {
      times = std::min(times, (lead - needed) / outrun);
    }
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(times, 0));
}

}  // namespace coppice::simulate
