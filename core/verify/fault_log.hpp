// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fabric/fabric.hpp"

namespace coppice::verify {

/// Collects findings: counts all, lists the first hundred.
class FaultLog {
public:
  static constexpr std::size_t kMaxListed = 100;

  /// `element` is the subject of the text: "tree 3" "has no edges".
  void fault(std::string text, ElementRef element, std::string fix = {});
  void note(std::string text, ElementRef element = {}, std::string fix = {});

  [[nodiscard]] std::int64_t faultCount() const { return m_faultCount; }
  /// False once the list is full: building further texts is wasted work, though faults still count.
  [[nodiscard]] bool wantsMore() const { return m_findings.size() < kMaxListed; }
  /// The list; where faults were left out, its last entry says how many.
  [[nodiscard]] std::vector<Finding> take();

private:
  std::vector<Finding> m_findings;
  std::int64_t m_faultCount = 0;
};

/// The node's id as inQuotes shows it; `node 7` outside the fabric.
[[nodiscard]] std::string nodeName(const fabric::Fabric& fabric, fabric::NodeIndex node);
/// The id of the GPU with this rank, or `rank 7`.
[[nodiscard]] std::string gpuName(const fabric::Fabric& fabric, fabric::Rank rank);
/// `"a" -> "sw" -> "b"`, shortened in the middle.
[[nodiscard]] std::string routeName(const fabric::Fabric& fabric, std::span<const fabric::NodeIndex> nodes);

/// What the whole schedule is wrong about.
[[nodiscard]] ElementRef wholeSchedule();
/// A GPU's id as the end of an edge or the root of a tree; "rank 7" outside the fabric.
[[nodiscard]] std::string gpuId(const fabric::Fabric& fabric, fabric::Rank rank);

}  // namespace coppice::verify
