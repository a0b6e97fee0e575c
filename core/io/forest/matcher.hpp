// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fabric/fabric.hpp"
#include "io/forest/content.hpp"
#include "schedule/forest.hpp"

namespace coppice::io::forest {

/// Turns the file's content into a schedule of a fabric; takes the forests out of it. Throws Refusal.
[[nodiscard]] schedule::Schedule match(Raw& raw, const fabric::Fabric& fabric);

}  // namespace coppice::io::forest
