// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Internal to core/mscclpp: the trees of an allreduce, with the switches that sum and copy.
namespace coppice::mscclpp {

/// What one rank does for a run of chunks.
struct TreeEnds {
  int up = -1;                       ///< rank that takes its sum, -1 at the root
  bool upBySwitch = false;           ///< that rank reads it through a switch
  std::vector<int> inDirect = {};    ///< ranks that send it their sums
  std::vector<int> inBySwitch = {};  ///< ranks whose sums it reads through a switch, together with its own
  int down = -1;                     ///< rank that brings the result, -1 at the root
  bool downBySwitch = false;
  std::vector<int> outDirect = {};
  std::vector<int> outBySwitch = {};
};

/// A run of chunks that one in-tree sums up and one out-tree copies.
struct TreePart {
  int root = 0;
  int start = 0;               ///< first chunk
  int count = 0;               ///< of each piece
  int pieces = 1;              ///< that go one behind the other
  std::vector<TreeEnds> ends;  ///< by rank
};

struct SwitchTrees {
  int chunks = 0;  ///< of the whole buffer
  std::vector<TreePart> parts;
};

/// Reads both forests. A GPU that takes a stream which a switch summed, or sends one that a switch copies, does so for
/// all of its neighbours in the tree behind switches at once: NVLink's switches of a domain act as one.
/// @param boxOf by rank: the NVLink domain  @param instances parts of every run, which go side by side
/// @param pieces of each where edges without a switch lead to others; what a switch does alone needs no pieces
/// Errors: badUsage (another collective), unavailable (no tree is summed or copied in a switch, or in one outside the
/// domains, or across two of them), limit (chunks), badInput (trees that do not span the GPUs). Throws OverflowError,
/// CancelledError.
[[nodiscard]] Result<SwitchTrees> readSwitchTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                                  const std::vector<int>& boxOf, int instances, int pieces,
                                                  const Progress& progress);

}  // namespace coppice::mscclpp
