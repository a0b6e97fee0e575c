// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "input.hpp"
#include "live/cut_bound.hpp"
#include "live/failures.hpp"

/// What n-1, prices and what-if share: a fabric with its bound.
namespace coppice::cli {

struct LoadedLive {
  LoadedFabric loaded;
  forestcoll::Request request;
  live::CutBound bound;
};

/// Errors: as loadFabric and workflow::readRequest, overflow, cancelled.
[[nodiscard]] Result<LoadedLive> loadLive(const FabricOptions& fabric, const workflow::DemandText& demand,
                                          const workflow::Values& switches, const Progress& progress);

/// The first keys of the JSON object: fabric, collective, bound.
[[nodiscard]] Json headJson(const LoadedLive& input);
/// "  fabric …" and, where switches are unbalanced, what the bound then means.
[[nodiscard]] std::string headText(const LoadedLive& input);

/// "link,nic,switch,gpu,box", or some of them. Errors: badUsage naming the option.
[[nodiscard]] Result<std::set<live::Part>> parseParts(const std::string& option, const std::string& text);

/// Of all parallel links from one node to another; 0 where there is none.
[[nodiscard]] Bandwidth bandwidthBetween(const fabric::Fabric& fabric, fabric::NodeIndex src, fabric::NodeIndex dst);

/// How many of a ranking's rows are listed.
struct RowsShown {
  std::size_t json = 0;
  std::size_t text = 0;
};
/// @param top  of --top: 0 = all; absent = 20 of the text, all of the JSON
[[nodiscard]] RowsShown rowsShown(const std::optional<int>& top, std::size_t all);

/// What such a report ends with: the findings of the import and the time.
void closeReport(Report& report, const LoadedLive& input, double seconds);

/// Rows with columns padded to their widest cell, two blanks apart and before; the last column is not padded.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

/// "3/2 = 1.5", "2", "-1/3 = -0.3333".
[[nodiscard]] std::string exactAndDecimal(const Rational& value);

}  // namespace coppice::cli
