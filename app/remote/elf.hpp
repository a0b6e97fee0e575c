// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace coppice::remote {

/// What a program asks of the machine it runs on.
struct ProgramNeeds {
  std::string architecture = {};            ///< as uname -m says: "x86_64", "aarch64", …
  std::vector<std::string> libraries = {};  ///< as the dynamic linker looks for them: "libc.so.6"
  std::string libc = {};                    ///< newest GLIBC_ version it names, "2.34"; empty = none
  std::string libstdcxx = {};               ///< newest GLIBCXX_ version, "3.4.30"; empty = none
};

/// Reads a 64-bit little-endian ELF file. Source: System V ABI, "ELF header", "Dynamic section".
/// Errors: badInput (not such a file, or cut off).
Result<ProgramNeeds> programNeeds(std::string_view file);

/// Compares "2.9" and "2.34" number by number.
[[nodiscard]] bool isOlder(std::string_view a, std::string_view b);

}  // namespace coppice::remote
