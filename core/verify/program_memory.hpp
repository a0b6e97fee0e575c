// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "program/finding_sink.hpp"
#include "verify/program_data.hpp"
#include "verify/program_flat.hpp"

/// Reads that the order of steps allows and the memory does not, on GPUs with several dies (MI300). RCCL's kernel
/// (msccl_kernel_impl.h) orders memory between threadblocks only in part:
///
/// | ROCm         | publishes with release order | waits with acquire order         |
/// |--------------|------------------------------|----------------------------------|
/// | 6.0          | never                        | never                            |
/// | 6.1          | after r and re               | never                            |
/// | 6.2 and later| after a dstbuf other than s  | before a step whose srcbuf is o  |
///
/// Scratch is not cached, so it needs neither. A chunk of i or o that another threadblock wrote needs
///  - a release after the write, or it is still in the cache of the die that wrote it, and
///  - an acquire before the read, if a third threadblock touched the chunk before: the reader's die, which may be the
///    third's, has the old contents in its cache.
/// Messages between GPUs count as neither.
namespace coppice::verify {

/// Warns of reads that can be stale; for releases before ROCm 6.2, of the first one only.
/// @param history of a finished execution with the same layout and chunksPerMessage, without races
void checkMemoryOrder(const program::Program& program, const FlatProgram& flat, const Layout& layout,
                      const std::vector<RankHistory>& history, int chunksPerMessage, program::Runtime runtime,
                      const Progress& progress, program::FindingSink& sink);

}  // namespace coppice::verify
