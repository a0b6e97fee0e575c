// SPDX-License-Identifier: Apache-2.0
#include "simulate/engine.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "base/rows.hpp"
#include "simulate/fits.hpp"
#include "simulate/link_sharing.hpp"
#include "simulate/steady_state.hpp"

namespace coppice::simulate {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Events this close (relative to the time) are one: equal messages end together, whatever their rounding.
constexpr double kSameTime = 0x1p-43;
/// Fewer repeats than this are played one by one.
constexpr std::uint32_t kRepeatsToJump = 32;

/// What started a message: a dependency, or one of these.
using Cause = std::uint32_t;
constexpr Cause kNoCause = ~Cause{0};
constexpr Cause kOrder = kNoCause - 1;
constexpr Cause kWindow = kNoCause - 2;

Interval intervalAt(const Intervals::Columns& times, MessageId id, std::uint32_t repeat) {
  const std::size_t at = std::size_t{id} * times.repeats + repeat;
  const RouteId route = times.job->messages()[id].route;
  const Microseconds overhead = route == kNoRoute ? Microseconds(0) : times.job->routes()[route].overhead;
  const Microseconds latency = route == kNoRoute ? Microseconds(0) : times.job->routes()[route].latency;
  const Microseconds ready = times.ready[at];
  const Microseconds left = times.left[at];
  const bool isAdded = !times.landed.empty() && times.landed[at] > Microseconds(0);
  const Microseconds adding = isAdded ? times.arrived[at] - times.landed[at] : Microseconds(0);
  return {id, repeat, ready, ready + overhead, left, left + latency + adding, adding};
}

/// That a GPU takes to add one byte: as the model states it, or as it was measured.
Microseconds addingTime(const Model& model) {
  return model.additionTime > Microseconds(0) || !model.fits ? model.additionTime : model.fits->additionTime;
}

class Engine {
public:
  Engine(const Job& job, const RunOptions& options, Microseconds resolution, const Progress& progress)
      : m_job(job),
        m_options(options),
        m_progress(progress),
        m_resolution(resolution),
        m_sharing(job, resolution.count(), options.resolution ? 0 : kExactWork),
        m_states(job.messages().size()),
        m_arrivals(job.messages().size()),
        m_addingUntil(job.fabric().gpuCount(), 0.0),
        m_steady(job, options.repeats),
        m_mayJump(!options.record && options.repeats >= kRepeatsToJump && !m_states.empty()) {
    link();
    if (options.record) {
      const std::size_t all = m_states.size() * options.repeats;
      m_times.job = &job;
      m_times.repeats = options.repeats;
      m_times.ready.resize(all);
      m_times.left.resize(all);
      m_causes.resize(all, kNoCause);
      if (addingTime(job.model()) > Microseconds(0)) {
        m_times.landed.resize(all);
        m_times.arrived.resize(all);
        m_landed.resize(m_states.size());
      }
    }
  }

  Result<Run> play() {
    for (MessageId message = 0; message < m_states.size(); ++message) {
      m_states[message].pending = openDependencies(message, 0);
      if (m_states[message].pending == 0) {
        m_ready.push_back({message, kNoCause});
      }
    }
    startReady(0);
    m_sharing.settle(0);
    const double total = static_cast<double>(m_states.size()) * m_options.repeats;
    double now = 0;
    std::vector<MessageId> finished;
    std::int64_t reported = 0;
    for (std::int64_t turn = 0;; ++turn) {
      // A turn is one message, or thousands that end together.
      constexpr std::int64_t kTurnsPerReport = 256;
      constexpr std::int64_t kArrivalsPerReport = 4096;
      if (turn % kTurnsPerReport == 0 || m_arrived - reported >= kArrivalsPerReport) {
        reported = m_arrived;
        throwIfCancelled(m_progress);
        m_progress.report("simulating", static_cast<double>(m_arrived) / total);
      }
      constexpr std::int64_t kTurnsPerBound = 4096;
      if (turn % kTurnsPerBound == 0 && m_options.limit < kNoTimeLimit && minTime(now) > m_options.limit.count()) {
        Run endless;
        endless.time = kNoTimeLimit;
        return endless;
      }
      const double first = std::min(m_sharing.nextTime(), m_timers.empty() ? kNever : m_timers.front().time);
      if (first == kNever) {
        break;
      }
      const double slack = first * kSameTime;
      now = std::max(now, first);
      m_dueTimers.clear();
      while (!m_timers.empty() && m_timers.front().time <= first + slack) {
        m_dueTimers.push_back(m_timers.front());
        std::pop_heap(m_timers.begin(), m_timers.end(), later);
        m_timers.pop_back();
        now = std::max(now, m_dueTimers.back().time);
      }
      now = m_sharing.takeDue(first + slack, now);
      finished.clear();
      m_sharing.finishDue(now, slack, finished);
      for (const MessageId message : finished) {
        leave(message, now);
      }
      for (const Timer& timer : m_dueTimers) {
        switch (timer.kind) {
          case Timer::Kind::flow:
            flow(timer.message, now);
            break;
          case Timer::Kind::landing:
            land(timer.message, now);
            break;
          case Timer::Kind::added:
            arrive(timer.message, now);
            break;
        }
      }
      startReady(now);
      m_sharing.settle(now);
      now += jump(now);
    }
    if (static_cast<double>(m_arrived) != total) {
      return circle();
    }
    return result();
  }

private:
  /// Where the run repeats itself, moves it on by as many periods as are certain. Returns the time that takes.
  double jump(double now) {
    if (!m_mayJump || m_sharing.isCoarse()) {
      return 0;
    }
    const auto period = m_steady.look(now, m_states, m_timers, m_sharing);
    if (!period) {
      return 0;
    }
    const double time = period->time * period->times;
    for (std::size_t i = 0; i < m_states.size(); ++i) {
      const std::uint32_t more = period->starts[i] * period->times;
      m_states[i].started += more;
      m_states[i].left += more;
      m_states[i].arrived += more;
      m_arrivals[i] += Microseconds(more > 0 ? time : 0);
      m_arrived += more;
    }
    for (Timer& timer : m_timers) {
      timer.time += time;
    }
    for (double& until : m_addingUntil) {
      until += time;
    }
    std::vector<double> busy = period->busy;
    std::transform(busy.begin(), busy.end(), busy.begin(), [&](double each) { return each * period->times; });
    m_sharing.moveOn(time, busy);
    m_steady.restart();
    return time;
  }

  /// What has not started yet must still cross its links. Below the truth by more than all rounding.
  [[nodiscard]] double minTime(double now) const {
    constexpr double kMargin = 1 - 1e-9;
    std::vector<double> bytes(m_job.linkRates().size());
    for (MessageId id = 0; id < m_states.size(); ++id) {
      const Message& message = m_job.messages()[id];
      if (message.route != kNoRoute) {
        for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[message.route])) {
          bytes[arc] += bytesOf(message) * (m_options.repeats - m_states[id].started);
        }
      }
    }
    double longest = 0;
    for (std::size_t arc = 0; arc < bytes.size(); ++arc) {
      longest = std::max(longest, bytes[arc] > 0 ? bytes[arc] / m_job.linkRates()[arc] : 0);
    }
    return (now + longest) * kMargin;
  }

  struct Follower {
    MessageId after = 0;
    std::uint32_t delay = 0;
    std::uint32_t dependency = 0;
    bool onArrival = false;
  };
  struct Guard {
    MessageId before = 0;
    std::uint32_t delay = 0;
    bool onArrival = false;
  };
  struct Ready {
    MessageId message = 0;
    Cause cause = kNoCause;
  };
  static bool later(const Timer& a, const Timer& b) {
    return a.time != b.time ? a.time > b.time : a.message > b.message;
  }

  void link() {
    const auto dependencies = m_job.dependencies();
    m_followers.assign(m_states.size(), [&](const auto& add) {
      for (std::uint32_t i = 0; i < dependencies.size(); ++i) {
        const Dependency& each = dependencies[i];
        add(each.before, Follower{each.after, each.delay, i, endsOnArrival(each.why)});
      }
    });
    m_guards.assign(m_states.size(), [&](const auto& add) {
      for (const Dependency& each : dependencies) {
        add(each.after, Guard{each.before, each.delay, endsOnArrival(each.why)});
      }
    });
  }

  [[nodiscard]] bool isOpen(const Guard& guard, std::uint32_t repeat) const {
    const MessageState& before = m_states[guard.before];
    return std::uint64_t{guard.onArrival ? before.arrived : before.left} + guard.delay <= repeat;
  }

  [[nodiscard]] std::uint32_t openDependencies(MessageId message, std::uint32_t repeat) const {
    std::uint32_t open = 0;
    for (const Guard& guard : m_guards[message]) {
      open += isOpen(guard, repeat) ? 1 : 0;
    }
    return open;
  }

  [[nodiscard]] double bytesOf(const Message& message) const {
    const double bytes = message.share * m_options.bytes / m_options.repeats;
    return bytes > 0 ? bytes + m_job.model().messageBytes * message.weight : bytes;
  }

  void startReady(double now) {
    while (!m_ready.empty()) {
      const Ready ready = m_ready.back();
      m_ready.pop_back();
      start(ready, now);
    }
  }

  void start(const Ready& ready, double now) {
    MessageState& state = m_states[ready.message];
    const std::uint32_t window = m_job.window();
    if (state.pending > 0 || state.started > state.left || state.started == m_options.repeats ||
        (window > 0 && state.started - state.arrived >= window)) {
      return;
    }
    if (m_options.record) {
      const std::size_t at = std::size_t{ready.message} * m_options.repeats + state.started;
      m_times.ready[at] = Microseconds(now);
      m_causes[at] = ready.cause;
    }
    ++state.started;
    if (state.started < m_options.repeats) {
      state.pending = openDependencies(ready.message, state.started);
    }
    const Message& message = m_job.messages()[ready.message];
    const double overhead = message.route == kNoRoute ? 0 : m_job.routes()[message.route].overhead.count();
    if (overhead > 0) {
      addTimer({now + overhead, ready.message, Timer::Kind::flow});
    } else {
      flow(ready.message, now);
    }
  }

  void addTimer(const Timer& timer) {
    m_timers.push_back(timer);
    std::push_heap(m_timers.begin(), m_timers.end(), later);
  }

  void flow(MessageId id, double now) {
    const Message& message = m_job.messages()[id];
    const double bytes = bytesOf(message);
    if (message.route != kNoRoute && m_job.routes()[message.route].arcCount > 0 && bytes > 0) {
      m_sharing.add(message.route, id, bytes, message.weight, now);
    } else {
      leave(id, now);
    }
  }

  void leave(MessageId id, double now) {
    MessageState& state = m_states[id];
    if (m_options.record) {
      m_times.left[std::size_t{id} * m_options.repeats + state.left] = Microseconds(now);
    }
    ++state.left;
    tell(id, false);
    const Message& message = m_job.messages()[id];
    const double latency = message.route == kNoRoute ? 0 : m_job.routes()[message.route].latency.count();
    if (latency > 0) {
      addTimer({now + latency, id, Timer::Kind::landing});
    } else {
      land(id, now);
    }
    m_ready.push_back({id, kOrder});
  }

  /// The last byte of a message is there. Its receiver adds what came before, and then this.
  void land(MessageId id, double now) {
    const Message& message = m_job.messages()[id];
    const double time = addingTime(m_job.model()).count() * (message.added * m_options.bytes / m_options.repeats);
    if (time <= 0) {
      arrive(id, now);
      return;
    }
    double& until = m_addingUntil[message.to];
    until = std::max(until, now) + time;
    if (!m_landed.empty()) {
      m_times.landed[std::size_t{id} * m_options.repeats + m_landed[id]++] = Microseconds(now);
    }
    addTimer({until, id, Timer::Kind::added});
  }

  void arrive(MessageId id, double now) {
    MessageState& state = m_states[id];
    m_last = id;
    m_lastRepeat = state.arrived;
    m_end = now;
    m_arrivals[id] = Microseconds(now);
    if (!m_times.arrived.empty()) {
      m_times.arrived[std::size_t{id} * m_options.repeats + state.arrived] = Microseconds(now);
    }
    ++state.arrived;
    ++m_arrived;
    tell(id, true);
    m_ready.push_back({id, kWindow});
  }

  /// Messages that waited for this one and for nothing else are ready.
  void tell(MessageId id, bool onArrival) {
    const std::uint32_t done = (onArrival ? m_states[id].arrived : m_states[id].left) - 1;
    for (const Follower& follower : m_followers[id]) {
      MessageState& state = m_states[follower.after];
      if (follower.onArrival == onArrival && std::uint64_t{done} + follower.delay == state.started &&
          state.started < m_options.repeats && --state.pending == 0) {
        m_ready.push_back({follower.after, follower.dependency});
      }
    }
  }

  [[nodiscard]] std::vector<CriticalMessage> criticalPath() const {
    std::vector<CriticalMessage> path;
    MessageId id = m_last;
    std::uint32_t repeat = m_lastRepeat;
    for (bool more = true; more;) {
      const Cause cause = m_causes[std::size_t{id} * m_options.repeats + repeat];
      const Message& message = m_job.messages()[id];
      CriticalMessage step{intervalAt(m_times, id, repeat), Wait::nothing, Microseconds(0)};
      if (message.route != kNoRoute) {
        for (const std::int32_t arc : m_job.arcsOf(m_job.routes()[message.route])) {
          step.alone = std::max(step.alone, Microseconds(bytesOf(message) / m_job.linkRates()[arc]));
        }
      }
      if (cause == kOrder) {
        step.waitedFor = Wait::order;
        --repeat;
      } else if (cause == kWindow) {
        step.waitedFor = Wait::window;
        repeat -= m_job.window();
      } else if (cause != kNoCause) {
        const Dependency& dependency = m_job.dependencies()[cause];
        step.waitedFor = dependency.why;
        id = dependency.before;
        repeat -= dependency.delay;
      } else {
        more = false;
      }
      path.push_back(step);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  [[nodiscard]] Run result() {
    Run run;
    run.time = Microseconds(m_end);
    run.arrivals = std::move(m_arrivals);
    const std::vector<double> shares = m_job.linkShares();
    for (std::size_t arc = 0; arc < shares.size(); ++arc) {
      run.links.push_back({shares[arc] * m_options.bytes, Microseconds(m_sharing.busyTimes()[arc])});
    }
    for (const Message& message : m_job.messages()) {
      run.messages += message.route == kNoRoute ? 0 : m_options.repeats;
    }
    run.fills = m_sharing.fills();
    run.resolution = m_sharing.isCoarse() ? m_resolution : Microseconds(0);
    if (m_options.record && !m_states.empty()) {
      run.criticalPath = criticalPath();
      run.intervals = Intervals(std::move(m_times));
    }
    return run;
  }

  /// Why nothing continues: follows open dependencies until a message comes back.
  [[nodiscard]] Error circle() const {
    MessageId id = 0;
    while (m_states[id].left == m_options.repeats) {
      ++id;
    }
    std::vector<bool> seen(m_states.size());
    std::vector<MessageId> path;
    while (!seen[id]) {
      seen[id] = true;
      path.push_back(id);
      for (const Guard& guard : m_guards[id]) {
        if (isOpen(guard, m_states[id].started)) {
          id = guard.before;
          break;
        }
      }
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), id));
    std::string text = "messages wait for each other in a cycle: ";
    constexpr std::size_t kMaxNamed = 4;
    for (std::size_t i = 0; i < std::min(path.size(), kMaxNamed); ++i) {
      text += (i > 0 ? ", which waits for " : "") + nameOf(m_job, path[i], m_states[path[i]].started);
    }
    if (path.size() > kMaxNamed) {
      text += " and " + std::to_string(path.size() - kMaxNamed) + " more";
    }
    return Error{ErrorCode::badInput, text, "change the order of the messages; verify says more about programs"};
  }

  const Job& m_job;
  const RunOptions& m_options;
  const Progress& m_progress;
  Microseconds m_resolution;
  LinkSharing m_sharing;
  std::vector<MessageState> m_states;
  std::vector<Microseconds> m_arrivals;  ///< by message: of its last repeat so far
  std::vector<double> m_addingUntil;     ///< by rank: when it has added all that is there
  Rows<Follower> m_followers;            ///< by message
  Rows<Guard> m_guards;                  ///< by message
  std::vector<Timer> m_timers;           ///< heap, earliest first
  std::vector<Timer> m_dueTimers;
  std::vector<Ready> m_ready;
  Intervals::Columns m_times;           ///< of recorded runs
  std::vector<Cause> m_causes;          ///< by message and repeat
  std::vector<std::uint32_t> m_landed;  ///< by message: repeats whose last byte is there, where they are added
  SteadyState m_steady;
  bool m_mayJump = false;
  std::int64_t m_arrived = 0;
  MessageId m_last = 0;
  std::uint32_t m_lastRepeat = 0;
  double m_end = 0;
};

Microseconds resolutionFor(const Job& job, const RunOptions& options) {
  return options.resolution.value_or(kCoarseness * job.timePerByte() * options.bytes /
                                     static_cast<double>(job.depth() + options.repeats));
}

}  // namespace

Intervals::Intervals(Columns columns) : m_columns(std::move(columns)) {
  const std::span<const Message> messages = m_columns.job->messages();
  const auto isRouted = [](const Message& message) { return message.route != kNoRoute; };
  m_size = m_columns.ready.size();
  if (!std::ranges::all_of(messages, isRouted)) {
    for (MessageId id = 0; id < messages.size(); ++id) {
      if (isRouted(messages[id])) {
        m_routed.push_back(id);
      }
    }
    m_size = m_routed.size() * m_columns.repeats;
  }
}

Interval Intervals::operator[](std::size_t at) const {
  if (m_columns.job == nullptr) {
    return m_written[at];
  }
  const std::size_t place = at / m_columns.repeats;
  const MessageId id = m_routed.empty() ? static_cast<MessageId>(place) : m_routed[place];
  return intervalAt(m_columns, id, static_cast<std::uint32_t>(at % m_columns.repeats));
}

std::string nameOf(const Job& job, MessageId message, std::uint32_t repeat) {
  const Message& named = job.messages()[message];
  std::string text = "rank " + std::to_string(named.from) + " to rank " + std::to_string(named.to) + ", " +
                     std::string(toString(job.labels())) + " " + std::to_string(named.label);
  if (job.labels() == LabelKind::tree || (job.labels() == LabelKind::transfer && repeat > 0)) {
    text += ", piece " + std::to_string(repeat);
  } else if (job.labels() == LabelKind::instruction && repeat > 0) {
    text += ", turn " + std::to_string(repeat);
  }
  return text;
}

Result<Run> run(const Job& job, const RunOptions& options, const Progress& progress) {
  if (!(options.bytes > 0) || options.repeats == 0) {
    return Error{ErrorCode::badUsage, "a simulation needs at least one byte and one piece"};
  }
  const auto messages = static_cast<std::int64_t>(job.messages().size()) * options.repeats;
  if (options.record && messages > kMaxRecorded) {
    return Error{ErrorCode::limit,
                 "the run has " + std::to_string(messages) + " messages; the times of at most " +
                     std::to_string(kMaxRecorded) + " can be kept",
                 "use fewer pieces, or leave out the critical path and the trace"};
  }
  return guarded([&] { return Engine(job, options, resolutionFor(job, options), progress).play(); },
                 {.memory = "not enough memory for " + std::to_string(messages) + " messages",
                  .memoryFix = "use fewer pieces",
                  .cancelled = "the simulation was cancelled"});
}

}  // namespace coppice::simulate
