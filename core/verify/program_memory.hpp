// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "program/finding_sink.hpp"
#include "verify/program_data.hpp"
#include "verify/program_flat.hpp"

/// Reads that the order of steps allows and the memory does not. RCCL's kernel (ROCm 6.2 and later) publishes a step
/// with release order only if the step's dstbuf is not s, and waits with acquire order only before a step whose srcbuf
/// is o. Scratch is not cached, so it needs neither. A chunk of i or o that another threadblock wrote needs
///  - a release after the write, or it is still in the cache of the die that wrote it, and
///  - an acquire before the read, if a third threadblock touched the chunk before: the reader's die, which may be the
///    third's, has the old contents in its cache.
/// Messages between GPUs count as neither.
namespace coppice::verify {

/// Warns of reads that can be stale.
/// @param history of a finished execution with the same layout and chunksPerMessage, without races
void checkMemoryOrder(const program::Program& program, const FlatProgram& flat, const Layout& layout,
                      const std::vector<RankHistory>& history, int chunksPerMessage, const Progress& progress,
                      program::FindingSink& sink);

}  // namespace coppice::verify
