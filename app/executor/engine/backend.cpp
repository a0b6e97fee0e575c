// SPDX-License-Identifier: Apache-2.0
#include "engine/backend.hpp"

namespace coppice::executor {

Outcome Backend::write(int /*rank*/, BufferKind /*kind*/, std::int64_t /*offset*/,
                       std::span<const std::byte> /*data*/) {
  return Error{.code = ErrorCode::internal, .message = "the backend's memory cannot be written through calls"};
}

Outcome Backend::read(int /*rank*/, BufferKind /*kind*/, std::int64_t /*offset*/, std::span<std::byte> /*data*/) {
  return Error{.code = ErrorCode::internal, .message = "the backend's memory cannot be read through calls"};
}

}  // namespace coppice::executor
