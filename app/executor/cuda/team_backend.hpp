// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/gpus.hpp"
#include "cuda/solo_backend.hpp"
#include "engine/backend.hpp"
#include "mpi/mpi_world.hpp"

namespace coppice::executor::cuda {

/// GPUs that a process may use, and how it opens some of them.
struct GpuChoice {
  std::vector<std::string> identities;  ///< the same GPU has the same in every process
  std::function<Result<std::unique_ptr<Gpus>>(const std::vector<int>& positions)> open;
};

/// Ranks on the GPUs of all processes of the job: one rank to a process, or several (ranks are dealt out in order).
/// Where a GPU can map the memory of another process's, blocks reach it as if it were their own process's; otherwise
/// messages go through host memory that the processes of a host share, or, between hosts, through pinned memory of each
/// process and MPI. MPI never sees an address of a GPU. COPPICE_EXEC_NO_PEER=1 in any process forbids the mapping, and
/// COPPICE_EXEC_FORCE_NETWORK=1 makes every process a host of its own.
///
/// All processes call it; all get a backend or none. Errors: unavailable (no GPU somewhere, more ranks than GPUs
/// without options.virtualRanks), those of GpuChoice::open, and of a process that is lost.
/// @param choice or why this process has none
Result<std::unique_ptr<Backend>> makeTeamBackend(std::unique_ptr<MpiWorld> world, Result<GpuChoice> choice,
                                                 const BackendOptions& options, const Tuning& tuning = {});

}  // namespace coppice::executor::cuda
