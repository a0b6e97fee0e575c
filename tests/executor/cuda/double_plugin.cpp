// SPDX-License-Identifier: Apache-2.0
// libcoppice-exec-cuda-mpi.so for a machine without GPUs: the same backend over host threads. Variables pretend
// machines:
//   COPPICE_DOUBLE_GPUS        GPUs that every process sees (default 8)
//   COPPICE_DOUBLE_OWN         1: each process sees GPUs of its own, as a launcher may give them out
//   COPPICE_DOUBLE_NO_MAPS     1: memory of other processes cannot be mapped
//   COPPICE_DOUBLE_STRANDS     most strands (default 2)
//   COPPICE_DOUBLE_BROKEN      number of a process that has no driver
//   COPPICE_DOUBLE_FAULT       number of a process in which the third launch fails
#include <cstdlib>

#include "cuda/team_backend.hpp"
#include "executor/cuda/host_gpus.hpp"
#include "mpi/job_environment.hpp"

namespace coppice::executor::cuda::test {
namespace {

int numberOf(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

program::BackendNote probe() {
  return {.name = "cuda-mpi", .available = true, .reason = "host threads that stand in for GPUs"};
}

Result<GpuChoice> choose() {
  if (numberOf("COPPICE_DOUBLE_BROKEN", -1) == jobProcess()) {
    return Error{.code = ErrorCode::unavailable, .message = "no driver here", .fix = "install one"};
  }
  const std::string owner = numberOf("COPPICE_DOUBLE_OWN", 0) != 0 ? std::to_string(jobProcess()) : "host";
  GpuChoice choice;
  for (int gpu = 0; gpu < numberOf("COPPICE_DOUBLE_GPUS", 8); ++gpu) {
    choice.identities.push_back(owner + "." + std::to_string(gpu));
  }
  choice.open = [](const std::vector<int>& positions) -> Result<std::unique_ptr<Gpus>> {
    HostOptions options;
    options.reach.assign(positions.size(), std::vector<bool>(positions.size(), true));
    options.maps = numberOf("COPPICE_DOUBLE_NO_MAPS", 0) == 0;
    options.failingLaunch = numberOf("COPPICE_DOUBLE_FAULT", -1) == jobProcess() ? 3 : 0;
    return std::unique_ptr<Gpus>(std::make_unique<HostGpus>(std::move(options)));
  };
  return choice;
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  auto world = MpiWorld::start();
  if (!world) {
    return world.error();
  }
  // Host threads of a busy machine stand still for longer than blocks of a GPU.
  return makeTeamBackend(*std::move(world), choose(), options,
                         {.deadlockSeconds = 3, .maxStrands = numberOf("COPPICE_DOUBLE_STRANDS", 2)});
}

}  // namespace
}  // namespace coppice::executor::cuda::test

extern "C" __attribute__((visibility("default"))) const coppice::executor::BackendKind* coppiceBackend(int abi) {
  static const coppice::executor::BackendKind kind = {.name = "cuda-mpi",
                                                      .probe = &coppice::executor::cuda::test::probe,
                                                      .create = &coppice::executor::cuda::test::create};
  return abi == coppice::executor::kBackendAbi ? &kind : nullptr;
}
