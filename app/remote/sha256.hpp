// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::remote {

/// SHA-256 in lower-case hex. Source: FIPS 180-4.
[[nodiscard]] std::string sha256(std::string_view bytes);
/// Of a file, read in blocks. Errors: io.
Result<std::string> sha256OfFile(const std::filesystem::path& file);

}  // namespace coppice::remote
