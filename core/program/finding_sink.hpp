// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/result.hpp"

namespace coppice::program {

/// Collects findings so that a fault repeated a million times neither drowns the others nor fills the memory: each rule
/// lists its first few, the rest are counted. An error is never lost: what is left out is summed up in one finding of
/// the same severity.
class FindingSink {
public:
  explicit FindingSink(std::size_t perRule = 10, std::size_t total = 200) : m_perRule(perRule), m_total(total) {}

  /// Whether a finding of this rule would be listed; if not, it is counted. Ask first when its text is costly.
  [[nodiscard]] bool wants(int rule, Severity severity);
  /// @pre wants() just said yes
  void add(int rule, Finding finding);
  [[nodiscard]] bool hasErrors() const { return m_hasErrors; }
  /// All findings, with one line per rule for what was left out. The sink is empty afterwards.
  [[nodiscard]] std::vector<Finding> take();

private:
  struct RuleState {
    std::size_t listed = 0;
    std::size_t leftOut = 0;
    Severity worstLeftOut = Severity::note;
    Finding example;
  };

  std::size_t m_perRule;
  std::size_t m_total;
  bool m_hasErrors = false;
  std::vector<Finding> m_findings;
  std::map<int, RuleState> m_rules;
};

}  // namespace coppice::program
