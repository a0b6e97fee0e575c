// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::io {

/// Files beyond this are refused unread.
inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

/// The whole file. Errors: io (absent, a folder, not readable), limit (longer than maxBytes).
Result<std::string> readFile(const std::filesystem::path& path, std::size_t maxBytes = kMaxFileBytes);

/// Replaces the file in one step: writes a temporary file beside it, then renames. A reader meanwhile sees the old
/// or the new text, never a part; on an error the old file is untouched. Keeps the permissions of an existing file and
/// follows symbolic links; devices and pipes are written directly. Errors: io.
Outcome saveFile(const std::filesystem::path& path, std::string_view text);

/// saveFile for texts too large to hold: `write` gets a stream into the file. Nothing is left behind where it fails or
/// throws. Errors: io, and those of `write`.
Outcome saveFile(const std::filesystem::path& path, const std::function<Outcome(std::ostream&)>& write);

/// With all folders above it; it may be there already. Errors: io naming the folder.
[[nodiscard]] Outcome makeFolder(const std::filesystem::path& folder);

}  // namespace coppice::io
