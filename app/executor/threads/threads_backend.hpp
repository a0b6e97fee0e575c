// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/backend.hpp"

namespace coppice::executor {

/// All ranks in this process, on a pool of workers.
[[nodiscard]] const BackendKind& threadsBackend();

}  // namespace coppice::executor
