// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alltoall/demand_table.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"

/// The traffic of a mixture-of-experts layer: every GPU sends each of its tokens to the GPUs of the experts that were
/// chosen for it (dispatch), and gets the results back (combine, the same pairs the other way).
namespace coppice::alltoall {

/// Tokens are sent in these many parts each where their number is an expected one.
constexpr std::int64_t kTokenParts = 1000;

/// By expert: the rank that has it.
using ExpertPlacement = std::vector<fabric::Rank>;

/// Expert e on the rank floor(e N / E): as many on each, in order. Errors: badUsage (no expert).
[[nodiscard]] Result<ExpertPlacement> evenPlacement(const fabric::Fabric& fabric, int experts);
/// One rank or GPU id per expert, between commas, spaces or lines. Errors: badInput (an unknown GPU, another number).
[[nodiscard]] Result<ExpertPlacement> readPlacement(const fabric::Fabric& fabric, std::string_view text,
                                                    const std::string& name, int experts);

/// How the tokens of a GPU choose experts where only their numbers are known: K of all experts, each set as likely as
/// any other. With a limit of boxes (node-limited routing), first this many boxes, then K of the experts there.
struct UniformRouting {
  std::int64_t tokens = 0;  ///< of each GPU
  int topK = 1;
  std::optional<int> maxBoxes = {};
};

/// Expected numbers of tokens from each GPU to each, to 1/1000 of a token: a token goes to a GPU once, however many of
/// its experts are there.
/// @param oncePerBox a token enters a box once, over the NIC of the GPU with the sender's place in its own box, and
/// goes from there to the GPUs of the box that have experts of it (as DeepEP does it)
/// @param boxOf by rank; used for maxBoxes and oncePerBox
/// Errors: badUsage (more experts per token than there are; boxes with different numbers of experts under a limit of
/// boxes; more boxes than there are), overflow.
[[nodiscard]] Result<DemandTable> expectedTraffic(const ExpertPlacement& placement, const std::vector<int>& boxOf,
                                                  const UniformRouting& routing, std::int64_t bytesPerToken,
                                                  bool oncePerBox);

/// What counts of tokens say: counts by rank, then expert. Each choice of an expert is a copy of the token.
[[nodiscard]] Result<DemandTable> countedTraffic(const ExpertPlacement& placement, int gpuCount,
                                                 const std::vector<std::int64_t>& counts, std::int64_t bytesPerToken);

/// The other way: what t got from s, it sends to s.
[[nodiscard]] DemandTable reversed(DemandTable table, int gpuCount);

/// Swaps experts of the GPU or box that needs the longest to send or receive, while that shortens its time or that of
/// the next. A proposal, by floating point. Experts per GPU stay.
[[nodiscard]] ExpertPlacement improvedPlacement(const fabric::Fabric& fabric, const std::vector<int>& boxOf,
                                                ExpertPlacement placement, const std::vector<std::int64_t>& counts);

}  // namespace coppice::alltoall
