// SPDX-License-Identifier: Apache-2.0
#include "remote/session_steps.hpp"

namespace coppice::remote {
namespace {

constexpr std::size_t kMaxShown = 20'000;
constexpr const char* kMore = "\n…";

constexpr std::array<StepFacts, kSteps> kFacts{{
    {Step::resolve, "its address was looked up", &Limits::lookUp, false},
    {Step::connect, "logging in", &Limits::login, false},
    {Step::hostKey, "logging in", &Limits::login, false},
    {Step::logIn, "logging in", &Limits::login, false},
    {Step::system, "reading its system", &Limits::script, true},
    {Step::libraries, "listing its libraries", &Limits::script, false},
    {Step::space, "checking the disk space", &Limits::script, false},
    {Step::executor, "looking for the executor", &Limits::script, true},
    {Step::copy, "receiving the executor", &Limits::upload, false},
    {Step::selfTest, "testing the executor", &Limits::selfTest, true},
    {Step::partitions, "looking for Slurm", &Limits::script, true},
}};

}  // namespace

const std::array<StepFacts, kSteps>& stepFacts() {
  return kFacts;
}

const StepFacts& factsOf(Step step) {
  return kFacts[static_cast<std::size_t>(step)];
}

void StepLog::tell(Step step) const {
  if (m_listener) {
    m_listener(step, (*this)[step]);
  }
}

void StepLog::reset(const std::vector<Step>& leftOut) {
  m_reports = {};
  // A step may end before any has begun.
  m_began = std::chrono::steady_clock::now();
  for (const Step step : leftOut) {
    StepReport& report = m_reports[index(step)];
    report.state = StepReport::State::skipped;
    report.message = "not needed";
    tell(step);
  }
}

void StepLog::begin(Step step) {
  m_reports[index(step)].state = StepReport::State::running;
  m_began = std::chrono::steady_clock::now();
  tell(step);
}

void StepLog::setCommand(Step step, std::string command) {
  m_reports[index(step)].command = std::move(command);
  tell(step);
}

void StepLog::hear(Step step, std::string_view text) {
  StepReport& report = m_reports[index(step)];
  if (report.output.size() < kMaxShown) {
    report.output += text;
    tell(step);
  }
}

void StepLog::setOutput(Step step, std::string_view text) {
  std::string& output = m_reports[index(step)].output;
  output = text.substr(0, kMaxShown);
  if (text.size() > kMaxShown) {
    output += kMore;
  }
  tell(step);
}

void StepLog::setMessage(Step step, std::string message) {
  m_reports[index(step)].message = std::move(message);
  tell(step);
}

void StepLog::end(Step step, StepReport::State state, std::string message, std::string fix) {
  StepReport& report = m_reports[index(step)];
  const auto now = std::chrono::steady_clock::now();
  report.state = state;
  report.seconds = std::chrono::duration<double>(now - m_began).count();
  report.message = std::move(message);
  report.fix = std::move(fix);
  m_began = now;
  tell(step);
}

}  // namespace coppice::remote
