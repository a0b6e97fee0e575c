// SPDX-License-Identifier: Apache-2.0
// The plug-in for the GPUs of several processes.
#include <algorithm>
#include <numeric>

#include "cuda/cuda_gpus.hpp"
#include "cuda/team_backend.hpp"
#include "engine/within_memory.hpp"
#include "mpi/job_environment.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr const char* kName = "cuda-mpi";

program::BackendNote probe() {
  program::BackendNote note = {.name = kName};
  const auto count = countGpus();
  if (!count) {
    note.reason = count.error().message;
    note.fix = count.error().fix;
    return note;
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);  // allowed before MPI_Init
  std::string library = version;
  library.resize(std::min(library.size(), library.find_first_of(",\n")));
  note.available = true;
  note.reason = describeGpus(*count) + ", for several processes through " + library;
  return note;
}

/// GPUs of this process from `first` on.
Result<GpuChoice> choose(int first) {
  const auto count = countGpus();
  if (!count) {
    return count.error();
  }
  if (first >= *count) {
    return Error{
        .code = ErrorCode::badUsage,
        .message = "there is no GPU " + std::to_string(first) + "; this process may use " + std::to_string(*count),
        .fix = "GPUs are numbered from 0"};
  }
  GpuChoice choice;
  for (int number = first; number < *count; ++number) {
    auto identity = identityOf(number);
    if (!identity) {
      return identity.error();
    }
    choice.identities.push_back(*std::move(identity));
  }
  choice.open = [first](const std::vector<int>& positions) {
    std::vector<int> numbers(positions.size());
    std::transform(positions.begin(), positions.end(), numbers.begin(),
                   [first](int position) { return first + position; });
    return openGpus(numbers);
  };
  return choice;
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  if (!isUnderMpi()) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "this process was started alone, not by mpirun or srun",
                 .fix = "use --backend cuda --processes N, or start it with mpirun -n N"};
  }
  // First, so that all processes hear of the one that has no GPU.
  auto world = MpiWorld::start();
  if (!world) {
    return world.error();
  }
  return withinMemory([&] { return makeTeamBackend(*std::move(world), choose(std::max(0, options.device)), options); },
                      "for the GPU backend");
}

}  // namespace
}  // namespace coppice::executor::cuda

extern "C" __attribute__((visibility("default"))) const coppice::executor::BackendKind* coppiceBackend(int abi) {
  static const coppice::executor::BackendKind kind = {.name = coppice::executor::cuda::kName,
                                                      .probe = &coppice::executor::cuda::probe,
                                                      .create = &coppice::executor::cuda::create};
  return abi == coppice::executor::kBackendAbi ? &kind : nullptr;
}
