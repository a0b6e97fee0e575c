// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cuda/launch_loop.hpp"
#include "engine/backend.hpp"

namespace coppice::executor::cuda {

/// All ranks on the GPUs of this process. Errors: those of Gpus::load.
Result<std::unique_ptr<Backend>> makeSoloBackend(std::unique_ptr<Gpus> gpus, int ranks, const Tuning& tuning = {});

}  // namespace coppice::executor::cuda
