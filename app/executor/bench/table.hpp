// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "program/run_protocol.hpp"

namespace coppice::executor {

/// Records as text for people: the table in nccl-tests' columns, with the share of the bound behind each half where the
/// bound is known. Lines that are not rows begin with '#'.
class Table {
public:
  /// Complete lines to print for a record, maybe none.
  std::string show(const program::Record& record);

private:
  std::string head(const program::PlanRecord& plan);
  std::string result(const program::ResultRecord& result);

  bool m_outOfPlace = true;
  bool m_inPlace = true;
  bool m_bound = false;
  bool m_headShown = false;
  std::optional<program::PlanRecord> m_plan;
  std::string m_row;  ///< begun, waits for its in-place half
  double m_lastRoofline = 0;
};

}  // namespace coppice::executor
