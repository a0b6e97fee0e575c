// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace coppice::executor {

/// Removes shared memory that a killed run has left: files of this user in `folder` with a name that Open MPI or the
/// executor gives, which no process has open or mapped. (The kernel grants a write lease on such a file only; so
/// processes in other containers are seen too.) @return how many were removed
int removeStaleSegments(const std::string& folder = "/dev/shm");

}  // namespace coppice::executor
