// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cuda/gpus.hpp"

namespace coppice::executor::cuda {

/// GPUs that this process may use. Errors: unavailable, saying why there are none.
Result<int> countGpus();

/// What tells a GPU from all others, whichever process looks at it: its UUID. Errors: those of the runtime.
Result<std::string> identityOf(int gpu);

/// "2 GPUs, the first: NVIDIA H100". @pre count from countGpus
[[nodiscard]] std::string describeGpus(int count);

/// Opens these GPUs, numbered as the runtime does. Errors: unavailable (too old, no cooperative launch, in exclusive
/// use, CUDA_LAUNCH_BLOCKING with several), limit.
Result<std::unique_ptr<Gpus>> openGpus(const std::vector<int>& numbers);

}  // namespace coppice::executor::cuda
