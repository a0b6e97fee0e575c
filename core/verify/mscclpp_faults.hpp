// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "mscclpp/execution_plan.hpp"
#include "program/finding_sink.hpp"

/// Internal to the check of execution plans: rules, and findings about operations.
namespace coppice::verify {

enum class MscclppRule {
  chunks,
  channel,
  remoteBuffer,
  semaphore,
  barrier,
  limit,
  operation,
  bounds,
  pipeline,
  group,
  kernel,
  release,
  race,
  port,
  balance,
  deadlock,
  packet,
  result,
  input,
  residency
};

class MscclppFaults {
public:
  void fault(MscclppRule rule, const mscclpp::OpPlace& place, const std::string& text, std::string fix) {
    add(rule, Severity::error, text, std::move(fix), mscclpp::elementOf(place));
  }
  void warn(MscclppRule rule, const mscclpp::OpPlace& place, const std::string& text, std::string fix) {
    add(rule, Severity::warning, text, std::move(fix), mscclpp::elementOf(place));
  }
  void rank(MscclppRule rule, int rank, const std::string& text, std::string fix) {
    add(rule, Severity::error, text, std::move(fix), {RefKind::rank, rank});
  }
  void plan(MscclppRule rule, Severity severity, const std::string& text, std::string fix) {
    add(rule, severity, text, std::move(fix), {});
  }
  [[nodiscard]] bool hasErrors() const { return m_sink.hasErrors(); }
  [[nodiscard]] bool wants(MscclppRule rule) { return m_sink.wants(static_cast<int>(rule), Severity::error); }
  [[nodiscard]] std::vector<Finding> take() { return m_sink.take(); }

private:
  void add(MscclppRule rule, Severity severity, const std::string& text, std::string fix, ElementRef element) {
    if (m_sink.wants(static_cast<int>(rule), severity)) {
      m_sink.add(static_cast<int>(rule), {.severity = severity,
                                          .code = ErrorCode::verification,
                                          .text = text,
                                          .fix = std::move(fix),
                                          .where = {.element = std::move(element)}});
    }
  }

  program::FindingSink m_sink{10, 100};
};

/// Lists, limits and shapes of operations. Faults of these keep a plan from being run.
void checkMscclppStructure(const mscclpp::ExecutionPlan& plan, int multiprocessors, MscclppFaults& faults);

}  // namespace coppice::verify
