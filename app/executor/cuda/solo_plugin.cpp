// SPDX-License-Identifier: Apache-2.0
// The plug-in for the GPUs of one process.
#include <algorithm>
#include <numeric>

#include "cuda/cuda_gpus.hpp"
#include "cuda/gpu_plan_backend.hpp"
#include "cuda/solo_backend.hpp"
#include "engine/within_memory.hpp"

namespace coppice::executor::cuda {
namespace {

program::BackendNote probe() {
  program::BackendNote note = {.name = "cuda"};
  const auto count = countGpus();
  if (!count) {
    note.reason = count.error().message;
    note.fix = count.error().fix;
    return note;
  }
  note.available = true;
  note.reason = describeGpus(*count);
  return note;
}

int ranks(const BackendOptions& options) {
  const auto count = countGpus();
  return count ? std::max(0, *count - std::max(0, options.device)) : 0;
}

Result<std::unique_ptr<Backend>> create(const BackendOptions& options) {
  const auto count = countGpus();
  if (!count) {
    return count.error();
  }
  const int first = std::max(0, options.device);
  if (first >= *count) {
    return Error{
        .code = ErrorCode::badUsage,
        .message = "there is no GPU " + std::to_string(first) + "; this process may use " + std::to_string(*count),
        .fix = "GPUs are numbered from 0"};
  }
  const int here = *count - first;
  if (options.ranks > here && !options.virtualRanks) {
    return Error{.code = ErrorCode::unavailable,
                 .message = std::to_string(options.ranks) + " ranks, and " + std::to_string(here) +
                            (here == 1 ? " GPU" : " GPUs") +
                            (first > 0 ? " from number " + std::to_string(first) + " on" : ""),
                 .fix = "--virtual lets ranks share GPUs: a rehearsal, which shows correctness, not bandwidth"};
  }
  return withinMemory(
      [&]() -> Result<std::unique_ptr<Backend>> {
        std::vector<int> used(static_cast<std::size_t>(std::min(here, std::max(1, options.ranks))));
        std::iota(used.begin(), used.end(), first);
        auto gpus = openGpus(used);
        if (!gpus) {
          return gpus.error();
        }
        return options.executionPlan ? makeGpuPlanBackend(*std::move(gpus), options.executionPlan)
                                     : makeSoloBackend(*std::move(gpus), options.ranks);
      },
      "for the GPU backend");
}

}  // namespace
}  // namespace coppice::executor::cuda

extern "C" __attribute__((visibility("default"))) const coppice::executor::BackendKind* coppiceBackend(int abi) {
  static const coppice::executor::BackendKind kind = {.name = "cuda",
                                                      .probe = &coppice::executor::cuda::probe,
                                                      .create = &coppice::executor::cuda::create,
                                                      .ranks = &coppice::executor::cuda::ranks};
  return abi == coppice::executor::kBackendAbi ? &kind : nullptr;
}
