// SPDX-License-Identifier: Apache-2.0
#include "cuda/team_loop.hpp"

#include <string>
#include <utility>

#include "engine/pause.hpp"
#include "engine/run_failures.hpp"
#include "mpi/world_failures.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr int kYields = 64;  // before the main thread sleeps between two looks
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kFaultPause = std::chrono::milliseconds(500);  // a fault may come of a neighbour's death

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

RunResult TeamLoop::run(const RunRequest& request, Proxy& proxy) {
  if (const Outcome begun = begin(request); !begun) {
    return brokenRun(m_world, begun.error());
  }
  const std::stop_callback onStop(request.stop, [this] { abort(); });
  return finish(iterate(proxy));
}

/// Errors: of a process that is lost.
Outcome TeamLoop::begin(const RunRequest& request) {
  m_request = request;
  m_world.setPatience(request.stallSeconds);
  m_isAborted = false;
  m_verdict = Verdict::none;
  m_culprit = -1;
  m_standings.reset();
  m_fault.reset();
  m_barrier.begin();
  if (Outcome outcome = m_world.gate(); !outcome) {
    return outcome;
  }
  m_watch.begin(request.stallSeconds);
  if (const Outcome begun = m_station.begin(request); !begun) {
    fail(begun.error());
  }
  return m_world.gate();
}

RunTimes TeamLoop::iterate(Proxy& proxy) {
  const Clock::time_point now = Clock::now();
  m_origin = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  m_looked = now;
  m_searched = now;
  m_moved = now;
  RunTimes times;
  for (int iteration = 0; iteration < m_request.iterations && m_verdict == Verdict::none; ++iteration) {
    bool goesOn = phase(proxy, [this] { return m_station.launch(0, true); });
    if (goesOn && m_station.divides()) {
      // Others may read a result until their own blocks have ended.
      goesOn = phase(proxy, [this] { return m_station.divide(0); });
    }
    if (goesOn && !m_fault) {
      const auto time = m_gpus.seconds(0, 0);
      if (!time) {
        fail(time.error());
        continue;
      }
      times.seconds.push_back(*time);
      times.total += *time;
    }
  }
  return times;
}

template <typename Start>
bool TeamLoop::phase(Proxy& proxy, Start start) {
  if (!m_fault) {
    if (const Outcome started = start(); !started) {
      fail(started.error());
    }
  }
  m_stall.emplace(0, m_tuning.deadlockSeconds);
  m_isStuck = false;
  bool isDone = false;
  for (Pause pause(kYields); true; pause.rest()) {
    if (proxy.poll()) {
      ++m_messages;
      m_moved = Clock::now();
      pause.restart();
    }
    if (!isDone && !m_fault) {
      const auto done = m_gpus.isDone(0);
      if (!done) {
        fail(done.error());
      }
      isDone = done && *done;
    }
    if (isDone && !m_barrier.isUnderWay()) {
      m_barrier.arrive();
    }
    if (m_barrier.isUnderWay() && m_barrier.hasPassed()) {
      ++m_phases;
      return true;
    }
    if (!lookAt(proxy, Clock::now(), isDone)) {
      stopBlocks();
      return false;
    }
  }
}

/// Looks after the blocks, the neighbours and the word of process 0. @return whether the run continues
bool TeamLoop::lookAt(const Proxy& proxy, Clock::time_point now, bool isDone) {
  if (now - m_looked >= kLook) {
    m_looked = now;
    const ProgressWords words = m_station.progress();
    const auto local = m_stall->look(words, seconds(now.time_since_epoch()));
    m_waiting = countWaiting(words);
    m_isStuck = local == StallWatch::Verdict::deadlock && seconds(now - m_moved) >= m_tuning.deadlockSeconds;
  }
  if (now - m_searched >= kTick) {
    m_searched = now;
    char state = 'R';
    if (const int process = m_world.findLost(state); process >= 0) {
      declare(Verdict::lost, process);
    }
  }
  const bool gaveUp = m_fault && now - m_faultTime >= kFaultPause;
  const Standing own = {.isIdle = isDone || m_isStuck ? 1 : 0,
                        .waits = isDone ? 0 : m_waiting,
                        .wantsStop = m_isAborted.load() || gaveUp ? 1 : 0,
                        .progress = m_stall->changes() + m_messages + m_phases,
                        .handed = proxy.handed(),
                        .taken = proxy.taken()};
  if (const Verdict given = m_watch.poll(own); given != Verdict::none) {
    declare(given, m_watch.culprit());
  }
  return m_verdict == Verdict::none;
}

void TeamLoop::fail(const Error& error) {
  if (!m_fault) {
    m_fault = error;
    m_faultTime = Clock::now();
  }
}

void TeamLoop::declare(Verdict what, int culprit) {
  if (m_verdict == Verdict::none) {
    m_verdict = what;
    m_culprit = culprit;
    m_standings = m_station.standings();  // before the blocks are stopped
  }
}

void TeamLoop::stopBlocks() {
  m_station.setAbort(1);
  const Clock::time_point told = Clock::now();
  for (Pause pause; true;) {
    const auto done = m_gpus.isDone(0);
    if (!done) {
      fail(done.error());
      return;
    }
    if (*done) {
      return;
    }
    if (seconds(Clock::now() - told) > kStopSeconds) {
      m_isLost = true;
      m_fault = unendedKernel();
      return;
    }
    pause.rest();
  }
}

RunResult TeamLoop::finish(RunTimes times) {
  Verdict agreed = m_verdict;
  if (agreed != Verdict::lost && agreed != Verdict::stall) {
    // All processes that are alive agree on how the run ended.
    if (const Outcome settled = m_barrier.settle(); !settled) {
      return brokenRun(m_world, settled.error());
    }
    agreed = m_watch.end();
  }
  if (agreed == Verdict::lost || agreed == Verdict::stall) {
    m_station.drop();
    return explainEnd(agreed);
  }
  // What went wrong in one process counts for all.
  const Outcome fine = m_world.agree(m_fault ? Outcome(*m_fault) : Outcome(Done{}));
  if (!fine) {
    m_station.drop();
    return RunFailure{.exit = m_world.brokenBy().value_or(program::exitFor(fine.error())), .error = fine.error()};
  }
  if (agreed == Verdict::none) {
    return times;
  }
  RunFailure failure = explainEnd(agreed);
  m_station.drop();
  return failure;
}

RunFailure TeamLoop::explainEnd(Verdict what) {
  if (what == Verdict::cancelled) {
    return stoppedRun();
  }
  if (what == Verdict::deadlock) {
    StrandWords words = m_standings ? *m_standings : m_station.standings();
    const auto parts = m_world.gatherAll(words.text());
    for (const std::string& part : parts ? *parts : std::vector<std::string>()) {
      words.add(part);
    }
    return deadlockedRun(explain(m_station.plan(), m_station.script(), words, true));
  }
  std::optional<program::StuckRecord> stuck;
  if (what == Verdict::stall && m_standings) {
    stuck = explain(m_station.plan(), m_station.script(), *m_standings, false);
  }
  return abandonedRun(m_world, what, m_culprit, m_request.stallSeconds, std::move(stuck));
}

}  // namespace coppice::executor::cuda
