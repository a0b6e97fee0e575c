// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "advice/tree_count.hpp"
#include "base/result.hpp"

/// Numbers of bytes, as a person writes and reads them.
namespace coppice::workflow {

/// "65536", "64KiB", "1MiB", "2 GB": a whole number of bytes; K, M, G and T alone count in 1024 as nccl-tests does.
/// Errors: badUsage naming the option.
[[nodiscard]] Result<std::int64_t> parseBytes(const std::string& text, const std::string& option);
/// "4.0 GiB", "512.0 MiB".
[[nodiscard]] std::string byteSize(std::int64_t bytes);
/// "pow2", "1MiB, 100MiB", or both mixed. Errors: badUsage.
[[nodiscard]] Result<advice::WantedSizes> parseSizes(const std::string& text);

}  // namespace coppice::workflow
