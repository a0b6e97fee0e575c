// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_loop.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "engine/pause.hpp"
#include "engine/run_failures.hpp"

namespace coppice::executor::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using program::RunExit;

constexpr auto kLook = std::chrono::milliseconds(20);

double secondsOf(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

RunFailure failureOf(const Error& error) {
  return {.exit = program::exitFor(error), .error = error, .stuck = {}};
}

}  // namespace

Error unendedKernel() {
  return {.code = ErrorCode::internal,
          .message =
              "the kernel did not end within " + std::to_string(static_cast<int>(kStopSeconds)) + " s of being stopped",
          .fix = "look at the system log for errors of the GPU"};
}

RunResult LaunchLoop::run(const RunRequest& request, Launchable& what) {
  RunTimes times;
  for (int done = 0; done < request.iterations;) {
    const int count = std::min(kBatch, request.iterations - done);
    int launched = 0;
    for (; launched < count; ++launched) {
      if (const Outcome under = what.launch(launched, launched == 0); !under) {
        noteAbort();  // of what was launched before
        what.stopBlocks();
        if (auto failure = wait(launched, request, what); failure && m_isLost) {
          return *std::move(failure);
        }
        return failureOf(under.error());
      }
    }
    if (auto failure = wait(launched, request, what)) {
      return *std::move(failure);
    }
    if (const Outcome added = addTimes(launched, times); !added) {
      return failureOf(added.error());
    }
    done += launched;
  }
  return times;
}

std::optional<RunFailure> LaunchLoop::wait(int launched, const RunRequest& request, Launchable& what) {
  StallWatch watch(request.stallSeconds, m_tuning.deadlockSeconds);
  std::optional<RunFailure> failure;
  std::optional<Clock::time_point> stopped;
  Clock::time_point looked = Clock::now();
  Pause pause;
  while (launched > 0) {
    const auto done = m_gpus.isDone(launched - 1);
    if (!done) {
      return RunFailure{.exit = RunExit::internal, .error = done.error(), .stuck = {}};
    }
    const Clock::time_point now = Clock::now();
    if (*done) {
      break;
    }
    if (now - looked >= kLook) {
      looked = now;
      const auto verdict = watch.look(what.progress(), secondsOf(now.time_since_epoch()));
      if (verdict != StallWatch::Verdict::moves && !stopped && !m_isAborted) {
        program::StuckRecord stuck = what.explain(verdict == StallWatch::Verdict::deadlock);
        failure = RunFailure{.exit = RunExit::hang,
                             .error = {.code = ErrorCode::verification, .message = stuck.text},
                             .stuck = std::move(stuck)};
        what.stopBlocks();
      }
      if ((failure || m_isAborted) && !stopped) {
        stopped = now;
      }
      if (stopped && secondsOf(now - *stopped) > kStopSeconds) {
        m_isLost = true;
        return RunFailure{.exit = RunExit::internal, .error = unendedKernel(), .stuck = {}};
      }
    }
    pause.rest();
  }
  if (!failure && m_isAborted) {
    failure = stoppedRun();
  }
  return failure;
}

Outcome LaunchLoop::addTimes(int launched, RunTimes& times) {
  for (int slot = 0; slot < launched; ++slot) {
    const auto one = m_gpus.seconds(slot, slot);
    if (!one) {
      return one.error();
    }
    times.seconds.push_back(*one);
  }
  const auto all = m_gpus.seconds(0, launched - 1);
  if (!all) {
    return all.error();
  }
  times.total += *all;
  return Done{};
}

}  // namespace coppice::executor::cuda
