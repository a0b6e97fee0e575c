// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

/// How much memory there is, and how a process holds itself to it. The kernel grants more than it has and then kills;
/// under a limit of its own a process hears of the end as std::bad_alloc instead.
namespace coppice {

/// Bytes that this process may still take: the minimum of what the machine has free (MemAvailable), what the process's
/// control groups leave (memory.max of version 2, memory.limit_in_bytes of version 1, of it and all above; page cache
/// counts as free), and its own limits (RLIMIT_AS, RLIMIT_DATA). nullopt where nothing of these can be read. `root`
/// stands for "/" in a test.
[[nodiscard]] std::optional<std::int64_t> availableMemory(const std::filesystem::path& root = "/");

/// Writable memory (RLIMIT_DATA) this process may take from now on, beside what it has; threads' stacks included. Never
/// raises a limit. False where the system refuses.
bool limitMemory(std::int64_t bytes);

/// Bytes the process may still take under RLIMIT_DATA and RLIMIT_AS; nullopt = no limit.
[[nodiscard]] std::optional<std::int64_t> memoryWithinLimits();

}  // namespace coppice
