// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace coppice::executor {

/// What a launcher wrote about ranks that died: "rank 2 (process 4711 on node3) was ended by signal 9 (Killed)"; empty
/// where the text tells of none. Knows the words of Open MPI's mpirun, MPICH's and srun.
[[nodiscard]] std::string findLostRank(const std::string& text);

/// "signal 9 (Killed)"
[[nodiscard]] std::string signalText(int signal);

}  // namespace coppice::executor
