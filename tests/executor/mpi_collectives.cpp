// SPDX-License-Identifier: Apache-2.0
// Times the MPI library's own collectives (float, sum, root 0) for compare_openmpi.py.
// Arguments: allgather|allreduce|reduce_scatter|broadcast, bytes as nccl-tests counts them, iterations, warm-up.
// Process 0 prints seconds of one call: the mean over the iterations, of the slowest process, as coppice-exec counts
// it.
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
  const char* const names[] = {"allgather", "allreduce", "reduce_scatter", "broadcast"};
  enum { kAllgather, kAllreduce, kReduceScatter, kBroadcast, kUnknown };
  int collective = 0;
  while (argc == 5 && collective < kUnknown && std::strcmp(argv[1], names[collective]) != 0) {
    ++collective;
  }
  if (argc != 5 || collective == kUnknown) {
    std::fputs("usage: mpi_collectives allgather|allreduce|reduce_scatter|broadcast BYTES ITERATIONS WARMUP\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const long elements = std::atol(argv[2]) / static_cast<long>(sizeof(float));
  const int iterations = std::atoi(argv[3]);
  const int warmup = std::atoi(argv[4]);
  const auto all = static_cast<int>(elements);
  const int share = all / ranks;
  std::vector<float> input(static_cast<std::size_t>(elements), static_cast<float>(rank));
  std::vector<float> output(static_cast<std::size_t>(elements), -1.0F);
  double start = 0;
  for (int round = 0; round < warmup + iterations; ++round) {
    if (round == warmup) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    switch (collective) {
      case kAllgather:
        MPI_Allgather(input.data(), share, MPI_FLOAT, output.data(), share, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case kAllreduce:
        MPI_Allreduce(input.data(), output.data(), all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case kReduceScatter:
        MPI_Reduce_scatter_block(input.data(), output.data(), share, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      default:
        MPI_Bcast(output.data(), all, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
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
