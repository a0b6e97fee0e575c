// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "advice/fitting.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"

/// What would fit a runtime, for people and in JSON.
namespace coppice::cli {

/// The negative answer for a schedule whose program does not fit: the error, and what to generate instead.
[[nodiscard]] Report doesNotFit(const fabric::Fabric& fabric, const Error& error, const advice::Fits& fits);

}  // namespace coppice::cli
