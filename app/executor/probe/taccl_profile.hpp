// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/profile.hpp"
#include "sketch/sketch.hpp"

/// Measurements as a topology file of TACCL.
namespace coppice::probe {

/// What profileJson wrote, fitted again from its points. Errors: badInput, those of fitAlphaBeta.
[[nodiscard]] Result<Profile> readProfile(const std::string& text);

struct TacclOptions {
  std::string name = "profile";
  std::int64_t chunkBytes = 1 << 20;
  int gpusPerNode = 0;  ///< 0 = all ranks are one node
  int nicsPerNode = 1;  ///< with several nodes
};

/// A custom topology: links within a node are those of the first one, in classes that a gap of more than a fifth in
/// time per byte divides, each with the median of its members; all links between nodes have one alpha and one beta, the
/// medians. The unit of time is the microsecond or a tenth, a hundredth, … of it, such that no link takes less than 30
/// units, because the official program cuts fractions off; it is kept as "coppice_time_unit_us", and the size of a
/// chunk as "coppice_chunk_bytes". Errors: badUsage (nodes that do not divide the ranks), badInput (a pair is missing).
[[nodiscard]] Result<sketch::Topology> tacclTopology(const std::vector<PairProfile>& pairs, int ranks,
                                                     const TacclOptions& options);

}  // namespace coppice::probe
