// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.hpp"
#include "remote/elf.hpp"
#include "remote/scripts.hpp"

/// Whether the executor can run on a machine, from what systemScript() found there. An empty message = yes.
namespace coppice::remote {

/// It runs no scripts, no Linux, or has another processor.
[[nodiscard]] Error systemFault(const std::string& machine, const Facts& system, const ProgramNeeds& needs);
/// Its C library is not GNU's, or too old.
[[nodiscard]] Error libcFault(const std::string& machine, const Facts& system, const ProgramNeeds& needs);

}  // namespace coppice::remote
