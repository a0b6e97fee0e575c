// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "remote/elf.hpp"
#include "remote/transfer.hpp"

namespace coppice::remote {

/// coppice-exec as it is here, with the backends beside it.
struct ExecutorFiles {
  std::filesystem::path program = {};  ///< absolute
  std::vector<Upload> files = {};      ///< the program first
  ProgramNeeds needs = {};

  [[nodiscard]] std::int64_t bytes() const;
};

/// Beside the running program, or in ../libexec/coppice or ../bin. Empty if it is not there.
[[nodiscard]] std::filesystem::path findExecutor();
/// Reads and digests. Errors: unavailable (not there), io, badInput (not a program for Linux).
Result<ExecutorFiles> readExecutor(const std::filesystem::path& program);

}  // namespace coppice::remote
