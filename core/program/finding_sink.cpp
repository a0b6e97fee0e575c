// SPDX-License-Identifier: Apache-2.0
#include "program/finding_sink.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace coppice::program {

bool FindingSink::wants(int rule, Severity severity) {
  m_hasErrors = m_hasErrors || severity == Severity::error;
  RuleState& state = m_rules[rule];
  if (state.listed < m_perRule && m_findings.size() < m_total) {
    return true;
  }
  ++state.leftOut;
  state.worstLeftOut = std::max(state.worstLeftOut, severity);
  return false;
}

void FindingSink::add(int rule, Finding finding) {
  RuleState& state = m_rules[rule];
  if (state.listed == 0) {
    state.example = finding;
  }
  ++state.listed;
  m_findings.push_back(std::move(finding));
}

std::vector<Finding> FindingSink::take() {
  std::size_t unlisted = 0;
  Severity worstUnlisted = Severity::note;
  for (const auto& [rule, state] : m_rules) {
    if (state.leftOut == 0) {
      continue;
    }
    if (state.listed == 0) {
      unlisted += state.leftOut;
      worstUnlisted = std::max(worstUnlisted, state.worstLeftOut);
      continue;
    }
    Finding more = state.example;
    more.severity = state.worstLeftOut;
    more.text = std::to_string(state.leftOut) + " more like the first one here (" + state.example.text + ")";
    m_findings.push_back(std::move(more));
  }
  if (unlisted > 0) {
    m_findings.push_back({.severity = worstUnlisted,
                          .text = std::to_string(unlisted) + " findings of other kinds are left out",
                          .fix = "fix the findings above first"});
  }
  m_rules.clear();
  m_hasErrors = false;
  return std::exchange(m_findings, {});
}

}  // namespace coppice::program
