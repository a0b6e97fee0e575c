// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "groups/groups.hpp"
#include "workflow/options.hpp"
#include "workflow/request.hpp"

/// Several collectives at once: what is asked, and the exact rate with its shared cut.
namespace coppice::workflow {

/// As a person writes it: a file of groups, groups by a mesh, or lists of GPUs; one of these is set.
struct ConcurrentText {
  std::string file = {};     ///< as io::readGroups reads it; "-" is standard input
  std::string ranks = {};    ///< "0-7;8-15": a list for each group, as --gpus takes them
  std::string mesh = {};     ///< "8x16"
  std::string axes = {};     ///< "1", or several that run at the same time, "0,1"; empty = all axes of size 2 or more
  DemandText demand = {};    ///< of groups by a mesh or lists: the collective alone
  bool relay = false;        ///< all GPUs pass on data of other groups
  std::string members = {};  ///< one group of these GPUs, as --gpus lists them; all others relay
  StandardInput standardInput = {};
};
/// groups, ranks, mesh, axis and relay.
[[nodiscard]] const std::vector<Option>& groupOptions();
/// Errors: badUsage naming the option, also where they do not go together.
[[nodiscard]] Result<ConcurrentText> readGroupOptions(const Values& given);

struct MeshAxes {
  std::vector<int> sizes;
  std::vector<int> axes;  ///< that run at the same time
};
/// "8x16", and "1" or "0,1"; empty = all axes of size 2 or more. Errors: badUsage naming --mesh or --axis.
[[nodiscard]] Result<MeshAxes> readMeshAxes(const std::string& mesh, const std::string& axes);

/// Errors: badUsage naming the option; those of io::readGroups.
[[nodiscard]] Result<schedule::ConcurrentDemand> readConcurrent(const fabric::Description& description,
                                                                const fabric::Fabric& fabric,
                                                                const ConcurrentText& text);

/// " each", or " times its weight each" where the weights are not all 1: behind a rate of all groups.
[[nodiscard]] std::string eachWords(const schedule::ConcurrentDemand& demand);

/// Groups that look alike, in the order in which they come: same collective, size, weight, and symmetric.
struct AlikeGroups {
  std::vector<std::size_t> groups;  ///< into ConcurrentDemand::groups, ascending; at least one
  Rational demand;                  ///< of all of them: their part of the shared cut
};
[[nodiscard]] std::vector<AlikeGroups> alikeGroups(const schedule::ConcurrentDemand& demand,
                                                   const groups::Optimum& optimum);

/// The rate with both of its certificates checked. Errors: those of groups::optimum; verification.
[[nodiscard]] Result<groups::Optimum> provedConcurrent(const fabric::Fabric& fabric,
                                                       const schedule::ConcurrentDemand& demand,
                                                       const Progress& progress);

/// Links of the shared cut that look alike: same kinds of ends, bandwidth and price.
struct CutLinks {
  std::vector<int> arcs = {};  ///< into Fabric::arcs(), ascending; at least one
  Bandwidth bandwidth = {};
  Rational price = {};  ///< what one more GB/s of one of them adds to the rate, as far as the prices tell

  /// GB/s of all of them, weighted by the price: their part of the rate.
  [[nodiscard]] Rational part() const {
    return bandwidth.gigabytesPerSecond() * price * Rational(static_cast<std::int64_t>(arcs.size()));
  }
};
/// Largest part of the cut first.
[[nodiscard]] std::vector<CutLinks> sharedCut(const fabric::Fabric& fabric, const groups::Optimum& optimum);
/// The same of any bound that is the sum of bandwidth times price over the links, to a common factor.
/// @param prices by arc, not negative, not all 0
[[nodiscard]] std::vector<CutLinks> sharedCut(const fabric::Fabric& fabric, const Bandwidth& bound,
                                              const std::vector<std::int64_t>& prices);
/// "16 links of 50 GB/s such as b0g0 -> b0nic": the most expensive ones of a shared cut; empty where there is none.
[[nodiscard]] std::string cutWords(const fabric::Fabric& fabric, const std::vector<CutLinks>& cut);
/// By arc, so that the sum of bandwidth times price is the rate.
[[nodiscard]] std::vector<Rational> linkPrices(const fabric::Fabric& fabric, const groups::Optimum& optimum);

}  // namespace coppice::workflow
