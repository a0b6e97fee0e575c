// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "program/run_job.hpp"

namespace coppice::remote {

/// What a launch bundle is about, for its texts.
struct BundleFacts {
  std::string title = {};  ///< of the schedule, as a person named it
  std::string version = {};
  int ranks = 0;             ///< 0 = not known
  bool hasExecutor = false;  ///< coppice-exec lies beside the scripts
  bool hasMpi = false;       ///< and its backend for MPI
};

/// A script or text of a bundle.
struct BundleFile {
  std::string text;
  bool isProgram = false;
};

/// The texts that make a folder ready to run where no window reaches: run.sh (this machine), run-mpi.sh (mpirun),
/// run.sbatch (Slurm) and README.md, by name. Every word from outside is one quoted shell word. @pre faultsOf(request)
/// is empty
[[nodiscard]] std::map<std::string, BundleFile> bundleFiles(const program::RunRequest& request,
                                                            const BundleFacts& facts);

}  // namespace coppice::remote
