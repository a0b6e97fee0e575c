// SPDX-License-Identifier: Apache-2.0
#include "mpi/waiting.hpp"

#include "engine/pause.hpp"

namespace coppice::executor {

bool isDone(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

int waitFor(MPI_Request& request) {
  int done = 0;
  for (Pause pause(kYields); true; pause.rest()) {
    if (const int error = MPI_Test(&request, &done, MPI_STATUS_IGNORE); error != MPI_SUCCESS || done != 0) {
      return error;
    }
  }
}

void waitFor(std::span<MPI_Request> requests) {
  for (MPI_Request& request : requests) {
    waitFor(request);
  }
}

void barrier(MPI_Comm comm) {
  waitForCall([&](MPI_Request* request) { MPI_Ibarrier(comm, request); });
}

}  // namespace coppice::executor
