// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <span>

/// MPI's own waits look for messages without a rest. Where processes share cores, they take these from the processes
/// that they wait for. The waits here rest between two looks.
namespace coppice::executor {

constexpr int kYields = 8;  // of a Pause, for what other processes do

/// Whether it has come; then it is MPI_REQUEST_NULL.
[[nodiscard]] bool isDone(MPI_Request& request);
/// @return MPI_SUCCESS or the error of MPI
int waitFor(MPI_Request& request);
void waitFor(std::span<MPI_Request> requests);
/// @param start  of a call of MPI, by the request that it makes
template <typename Start>
void waitForCall(Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  start(&request);
  waitFor(request);
}
void barrier(MPI_Comm comm);

}  // namespace coppice::executor
