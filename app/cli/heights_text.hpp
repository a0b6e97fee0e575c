// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/progress.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::cli {

/// Tree counts and heights of a sound schedule: in GPU hops, in links, and in microseconds along the links. Of an
/// allreduce maxima are of the higher half; means are over the trees of both, in the text one after the other.
void describeTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Progress& progress,
                   Json& json, std::string& text);

}  // namespace coppice::cli
