// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace coppice::executor {

/// Cores this process may use: its affinity mask, and no more than its control groups' quota rounded up (cpu.max of
/// version 2, cpu.cfs_quota_us of version 1). At least 1. `root` stands for "/" in a test.
[[nodiscard]] int allowedCores(const std::filesystem::path& root = "/");

/// Moves the calling thread to a core that it may use and that is not in `taken`. Nothing keeps it there.
/// @return false: there is none
bool moveOffCores(const std::vector<int>& taken);

/// Bytes of the largest cache that cores share; 32 MiB where the system does not say.
[[nodiscard]] long sharedCacheBytes();

}  // namespace coppice::executor
