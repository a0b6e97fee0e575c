// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace coppice::executor {

/// Processes of the job that mpirun or srun started this process in, from the variables they set; 0 = started alone.
/// Needs no MPI.
[[nodiscard]] int jobProcesses();
[[nodiscard]] inline bool isUnderMpi() {
  return jobProcesses() > 0;
}
/// Its number in the job; 0 when started alone.
[[nodiscard]] int jobProcess();

}  // namespace coppice::executor
