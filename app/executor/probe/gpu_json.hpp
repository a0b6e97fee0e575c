// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "probe/machine.hpp"

/// A GPU in the machine report and in recordings.
namespace coppice::probe {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json toJson(const Gpu& gpu);

/// What toJson wrote; a missing value is zero or empty. Throws Json::exception.
[[nodiscard]] Gpu readGpu(const Json& object);

}  // namespace coppice::probe
