// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "nccl/channels.hpp"
#include "nccl/load.hpp"
#include "nccl/run.hpp"

/// What each of NCCL's algorithms reaches on a fabric.
namespace coppice::nccl {

struct Reach {
  std::string_view algorithm;  ///< one of kAlgorithms
  Load load;
};

/// By congestion, of the algorithms that have channels in the set and make the collective, rings first. Left out are
/// NVLS and CollNet where the fabric does not have their heads; and NVLS between boxes in a set without CollNet, since
/// NCCL then takes NVLSTree. Errors: infeasible (no way for a hop of a ring or tree), badUsage (ranks differ from the
/// fabric's), overflow.
[[nodiscard]] Result<std::vector<Reach>> reachesOf(Ways& ways, const ChannelSet& channels, Collective collective);

/// nullptr where it is not among them.
[[nodiscard]] const Reach* findReach(const std::vector<Reach>& reaches, std::string_view algorithm);

/// By NVLS, in one box or, as NVLSTree, between boxes; nullptr = by neither.
[[nodiscard]] const Reach* findNvls(const std::vector<Reach>& reaches);

/// The estimate with no more bandwidth than its algorithm reaches: all of that in Simple, less in LL and LL128, which
/// send flags with the data.
[[nodiscard]] Estimate limitedBy(const std::vector<Reach>& reaches, Estimate estimate);

}  // namespace coppice::nccl
