// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::cli {

/// The first `max` trees of a schedule as indented text: one line per GPU under the GPU it hears from (or, in a
/// reduction, sends to), with the relays between the two. "" for most = 0.
[[nodiscard]] std::string treeText(const fabric::Fabric& fabric, const schedule::Schedule& schedule, std::int64_t max);

}  // namespace coppice::cli
