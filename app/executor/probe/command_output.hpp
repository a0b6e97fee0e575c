// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "io/files.hpp"
#include "program/run_protocol.hpp"

namespace coppice::probe {

/// Says what is wrong. The exit code, by default that of the error.
inline int fail(const Error& error, std::optional<program::RunExit> exit = {}) {
  std::fprintf(stderr, "coppice-exec: %s\n", describe(error).c_str());
  return static_cast<int>(exit.value_or(program::exitFor(error)));
}

/// Into the file, or to standard output where it is empty. The exit code.
inline int deliver(const std::string& text, const std::string& file) {
  if (!file.empty()) {
    const Outcome saved = io::saveFile(file, text);
    return saved ? 0 : fail(saved.error());
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail({ErrorCode::io, "standard output could not be written", "check the disk or pipe it goes to"});
  }
  return 0;
}

}  // namespace coppice::probe
