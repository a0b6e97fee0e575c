// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace coppice::executor {

/// Every process of this session, and every descendant of `ancestor`, which itself is left out. mpirun gives each rank
/// a process group of its own, so that a signal to one group would leave ranks behind.
[[nodiscard]] std::vector<pid_t> processesOf(pid_t session, pid_t ancestor);

}  // namespace coppice::executor
