// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.hpp"
#include "program/run_job.hpp"

namespace coppice::remote {

/// What a launch bundle is about, for its texts.
struct BundleFacts {
  std::string title = {};  ///< of the schedule, as a person named it
  std::string version = {};
  int ranks = 0;             ///< 0 = not known
  bool hasExecutor = false;  ///< coppice-exec is beside the scripts
  bool hasMpi = false;       ///< and its backend for MPI
  int root = -1;             ///< of broadcast, reduce, gather and scatter; -1 = none, or not known
};

/// A script, text or program of a bundle.
struct BundleFile {
  std::string text;
  bool isProgram = false;
};

/// The texts that make a folder ready to run where no window reaches: run.sh (this machine), run-mpi.sh (mpirun),
/// run.sbatch (Slurm) and README.md, by name. Every word from outside is one quoted shell word. @pre faultsOf(request)
/// is empty
[[nodiscard]] std::map<std::string, BundleFile> bundleFiles(const program::RunRequest& request,
                                                            const BundleFacts& facts);

/// Writes all of the files into a new folder, or nothing: what is unfinished is under another name beside it, and is
/// removed where something fails. An empty folder may be there already. Errors: io, badUsage (the folder is in use).
Outcome writeBundleFolder(const std::filesystem::path& folder, const std::map<std::string, BundleFile>& files);

}  // namespace coppice::remote
