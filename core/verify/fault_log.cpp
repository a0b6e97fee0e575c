// SPDX-License-Identifier: Apache-2.0
#include "verify/fault_log.hpp"

#include <utility>

#include "base/text.hpp"

namespace coppice::verify {

void FaultLog::fault(std::string text, ElementRef element, std::string fix) {
  ++m_faultCount;
  if (wantsMore()) {
    m_findings.push_back(
        {Severity::error, ErrorCode::verification, std::move(text), std::move(fix), {.element = std::move(element)}});
  }
}

void FaultLog::note(std::string text, ElementRef element, std::string fix) {
  if (wantsMore()) {
    m_findings.push_back(
        {Severity::note, ErrorCode::verification, std::move(text), std::move(fix), {.element = std::move(element)}});
  }
}

std::vector<Finding> FaultLog::take() {
  std::int64_t listed = 0;
  for (const Finding& finding : m_findings) {
    listed += finding.severity == Severity::error ? 1 : 0;
  }
  if (listed < m_faultCount) {
    const bool dropsFault = m_findings.back().severity == Severity::error;
    m_findings.back() = {Severity::error, ErrorCode::verification,
                         "and " + std::to_string(m_faultCount - listed + (dropsFault ? 1 : 0)) + " more faults"};
  }
  return std::move(m_findings);
}

std::string nodeName(const fabric::Fabric& fabric, fabric::NodeIndex node) {
  if (node < 0 || node >= fabric.nodeCount()) {
    return "node " + std::to_string(node);
  }
  return inQuotes(fabric.nodes()[node].id);
}

std::string gpuName(const fabric::Fabric& fabric, fabric::Rank rank) {
  if (rank < 0 || rank >= fabric.gpuCount()) {
    return "rank " + std::to_string(rank);
  }
  return nodeName(fabric, fabric.gpus()[rank]);
}

std::string routeName(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes) {
  constexpr std::size_t kMax = 12;
  if (nodes.empty()) {
    return "an empty route";
  }
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.size() > kMax && i == kMax / 2) {
      text += " -> ...";
      i = nodes.size() - kMax / 2;
    }
    text += (i == 0 ? "" : " -> ") + nodeName(fabric, nodes[i]);
  }
  return text;
}

ElementRef wholeSchedule() {
  return {RefKind::field, "schedule"};
}

std::string gpuId(const fabric::Fabric& fabric, fabric::Rank rank) {
  return rank >= 0 && rank < fabric.gpuCount() ? fabric.nodes()[fabric.gpus()[rank]].id
                                               : "rank " + std::to_string(rank);
}

}  // namespace coppice::verify
