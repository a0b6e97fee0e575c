// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/limits.hpp"

namespace coppice::remote {

/// The steps of opening a session, in their order.
enum class Step { resolve, connect, hostKey, logIn, system, libraries, space, executor, copy, selfTest, partitions };
inline constexpr std::size_t kSteps = 11;

/// What is fixed for a step.
struct StepFacts {
  Step step;
  const char* doing;  ///< follows "while": "reading its system"
  Limits::Time Limits::*limit;
  bool isHere;  ///< this computer has the step too
};
[[nodiscard]] const std::array<StepFacts, kSteps>& stepFacts();
[[nodiscard]] const StepFacts& factsOf(Step step);

/// One step as it is shown.
struct StepReport {
  enum class State { waiting, running, done, failed, skipped };
  State state = State::waiting;
  double seconds = 0;
  std::string command = {};  ///< what was run, as a person could type it
  std::string output = {};   ///< what it said, shortened
  std::string message = {};  ///< what came of it
  std::string fix = {};      ///< what to do, where it failed
};
using StepReports = std::array<StepReport, kSteps>;

/// The steps of one session: keeps their reports and times them. Every change is handed on at once.
class StepLog {
public:
  using Listener = std::function<void(Step, const StepReport&)>;
  explicit StepLog(Listener listener = {}) : m_listener(std::move(listener)) {}

  /// All wait, except those that are left out.
  void reset(const std::vector<Step>& leftOut);
  void begin(Step step);
  void setCommand(Step step, std::string command);
  /// Output of a step under way.
  void hear(Step step, std::string_view text);
  void setOutput(Step step, std::string_view text);
  void setMessage(Step step, std::string message);
  void end(Step step, StepReport::State state, std::string message, std::string fix = {});

  [[nodiscard]] const StepReport& operator[](Step step) const { return m_reports[index(step)]; }
  [[nodiscard]] bool isRunning(Step step) const { return (*this)[step].state == StepReport::State::running; }
  [[nodiscard]] const StepReports& reports() const { return m_reports; }

private:
  static std::size_t index(Step step) { return static_cast<std::size_t>(step); }
  void tell(Step step) const;

  Listener m_listener;
  StepReports m_reports;
  std::chrono::steady_clock::time_point m_began;
};

}  // namespace coppice::remote
