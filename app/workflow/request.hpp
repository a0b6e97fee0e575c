// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "workflow/method.hpp"

/// What is asked of a fabric, as a person writes it. Bad options are errors as optionError() makes them.
namespace coppice::workflow {

/// allgather, reduce_scatter, gather and scatter: each GPU may have its own amount of data.
[[nodiscard]] bool hasAmounts(Collective collective);

struct DemandText {
  std::string collective = "allgather";
  std::string root = {};     ///< id or rank
  std::string amounts = {};  ///< as forestcoll::parseAmounts reads them; empty = equal
};

/// "allgather" … Errors: badUsage.
[[nodiscard]] Result<Collective> readCollective(const std::string& text);
/// Errors: badUsage.
[[nodiscard]] Result<Demand> readDemand(const fabric::Fabric& fabric, const DemandText& text);
/// Equal amounts; a rooted collective has its root at rank 0.
[[nodiscard]] Demand defaultDemand(Collective collective);
/// A GPU by its id, or by its rank where no GPU has that id. Errors: badUsage naming the option.
[[nodiscard]] Result<fabric::Rank> readGpu(const fabric::Fabric& fabric, const std::string& text,
                                           const std::string& option);

/// "1%" or "0.01" as a share, above 0 and below 1. Errors: badUsage without the option.
[[nodiscard]] Result<Rational> parseLoss(const std::string& text);

/// Heading of what sets the number of trees.
inline constexpr const char* kTreesPerRoot = "Trees per root";

/// Heading of what switches can do.
inline constexpr const char* kSwitches = "Switches";

/// plain-switches.
[[nodiscard]] Option plainSwitchesOption();
/// k, k-max, within, plain-switches and allreduce-time.
[[nodiscard]] std::vector<Option> treeLimitOptions();
/// Puts them into the request. Errors: badUsage.
[[nodiscard]] Outcome readTreeLimits(const OptionValues& values, forestcoll::Request& request);

/// A question about the optimum, with limits on the number of trees (treeLimitOptions). Errors: badUsage naming the
/// option, also for a collective whose bound is not known.
[[nodiscard]] Result<forestcoll::Request> readRequest(const fabric::Fabric& fabric, const DemandText& demand,
                                                      const Values& limits);

/// The request for a demand, with defaults for the rest.
[[nodiscard]] forestcoll::Request requestOf(const Demand& demand);
/// The request for the optimum itself where the given one limits the number of trees; otherwise nothing.
[[nodiscard]] std::optional<forestcoll::Request> withoutTreeLimit(const forestcoll::Request& request);

}  // namespace coppice::workflow
