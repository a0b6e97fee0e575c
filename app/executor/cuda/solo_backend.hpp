// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "cuda/gpus.hpp"
#include "engine/backend.hpp"

namespace coppice::executor::cuda {

inline constexpr double kStopSeconds = 10;  ///< for the blocks to see an abort

/// What GPUs need not be told.
struct Tuning {
  double deadlockSeconds = 2;  ///< after which blocks that all wait are taken for stuck (StallWatch)
  std::int64_t maxStrands = std::numeric_limits<std::int64_t>::max();
};

/// All ranks on the GPUs of this process. Errors: those of Gpus::load.
Result<std::unique_ptr<Backend>> makeSoloBackend(std::unique_ptr<Gpus> gpus, int ranks, const Tuning& tuning = {});

/// "rehearsal: …" where ranks share a device.
inline constexpr const char* kRehearsal = "rehearsal: correctness, not bandwidth";

}  // namespace coppice::executor::cuda
