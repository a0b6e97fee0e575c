// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/program.hpp"

namespace coppice::verify {

struct ProgramVerdict {
  bool ok = false;
  Collective collective = Collective::allgather;
  int ranks = 0;
  int root = -1;                  ///< rooted collectives: the root that the data shows
  int multiprocessors = 0;        ///< threadblocks that a GPU was taken to run at once
  std::vector<Finding> findings;  ///< faults first found first; warnings do not clear ok
};

/// A row of a custom collective, in chunks of the caller's buffers, which hold all rows one after the other. What does
/// not combine is the same at all sources; what combines needs each source's once.
struct CustomShard {
  int first = 0;
  int count = 0;
  std::vector<int> sources = {};
  std::vector<int> destinations = {};
  bool combines = false;
};

struct ProgramCheckOptions {
  program::Runtime runtime = program::Runtime::msccl;
  /// Rooted collectives: the root the caller expects; -1 = infer it.
  int root = -1;
  /// Streaming multiprocessors that hold all threadblocks of a rank at once; nullopt = by the name of the program, see
  /// namedMultiprocessors().
  std::optional<int> multiprocessors = {};
  /// coll="custom": what it has to achieve. Empty = not known, so that its result is a fault.
  std::vector<CustomShard> custom = {};
};

/// Executes the program symbolically on all ranks: final contents against the collective, matching of sends and
/// receives, deadlock at the protocol's connection depth (naming the cycle and the depth that would free it), over two
/// loop iterations, reads of unwritten data, races between threadblocks, offsets and counts, and every limit of the
/// runtime for each rank. For rccl also reads that its memory order lets go stale, as warnings. In place and out of
/// place both when the program claims both.
Result<ProgramVerdict> verifyProgram(const program::Program& program, const ProgramCheckOptions& options = {},
                                     const Progress& progress = {});

}  // namespace coppice::verify
