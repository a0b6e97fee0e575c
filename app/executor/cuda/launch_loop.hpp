// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "cuda/gpus.hpp"
#include "cuda/progress.hpp"
#include "engine/backend.hpp"

namespace coppice::executor::cuda {

inline constexpr double kStopSeconds = 10;  ///< for the blocks to see an abort
/// They did not see it.
[[nodiscard]] Error unendedKernel();

/// What GPUs need not be told.
struct Tuning {
  double deadlockSeconds = 2;  ///< after which blocks that all wait are taken for stuck (StallWatch)
  std::int64_t maxStrands = std::numeric_limits<std::int64_t>::max();
};

/// "rehearsal: …" where ranks share a device.
inline constexpr const char* kRehearsal = "rehearsal: correctness, not bandwidth";

/// What is launched again and again.
class Launchable {
public:
  Launchable() = default;
  Launchable(const Launchable&) = delete;
  Launchable& operator=(const Launchable&) = delete;
  virtual ~Launchable() = default;

  /// @param first of its batch
  virtual Outcome launch(int slot, bool first) = 0;
  [[nodiscard]] virtual ProgressWords progress() const = 0;
  [[nodiscard]] virtual program::StuckRecord explain(bool isDeadlock) const = 0;
  /// Tells the blocks to stop.
  virtual void stopBlocks() noexcept = 0;
};

/// Launches iterations in batches and waits for them, with an eye on stops and on blocks that stand still.
class LaunchLoop {
public:
  LaunchLoop(Gpus& gpus, const Tuning& tuning) : m_gpus(gpus), m_tuning(tuning) {}

  /// Before the blocks are told that they need not stop.
  void begin() { m_isAborted = false; }
  /// From any thread.
  void noteAbort() noexcept { m_isAborted = true; }
  RunResult run(const RunRequest& request, Launchable& what);
  /// A kernel did not end: nothing can be released, and nothing can be run.
  [[nodiscard]] bool isLost() const { return m_isLost; }

private:
  std::optional<RunFailure> wait(int launched, const RunRequest& request, Launchable& what);
  Outcome addTimes(int launched, RunTimes& times);

  Gpus& m_gpus;
  Tuning m_tuning;
  std::atomic<bool> m_isAborted = false;
  bool m_isLost = false;
};

}  // namespace coppice::executor::cuda
