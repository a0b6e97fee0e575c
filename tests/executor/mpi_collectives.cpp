// SPDX-License-Identifier: Apache-2.0
// Times the MPI library's own MPI_Allgather and MPI_Allreduce (float, sum) for compare_openmpi.py.
// Arguments: allgather|allreduce, bytes as nccl-tests counts them, iterations, warm-up. Process 0 prints seconds of one
// call: mean over all processes and iterations, as coppice-exec counts it.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) {
    std::fputs("usage: mpi_collectives allgather|allreduce BYTES ITERATIONS WARMUP\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const bool gathers = std::strcmp(argv[1], "allgather") == 0;
  const long elements = std::atol(argv[2]) / static_cast<long>(sizeof(float));
  const int iterations = std::atoi(argv[3]);
  const int warmup = std::atoi(argv[4]);
  const auto own = static_cast<int>(gathers ? elements / ranks : elements);
  std::vector<float> input(static_cast<std::size_t>(own), static_cast<float>(rank));
  std::vector<float> output(static_cast<std::size_t>(elements), -1.0F);
  double start = 0;
  for (int round = 0; round < warmup + iterations; ++round) {
    if (round == warmup) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    if (gathers) {
      MPI_Allgather(input.data(), own, MPI_FLOAT, output.data(), own, MPI_FLOAT, MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(input.data(), output.data(), own, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  const double own_seconds = (MPI_Wtime() - start) / iterations;
  double slowest = 0;
  MPI_Reduce(&own_seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%.9f\n", slowest);
  }
  MPI_Finalize();
  return 0;
}
