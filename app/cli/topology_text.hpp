// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "finder/construction.hpp"

/// The commands on topologies, and what they share.
namespace coppice::cli {

void addFindTopology(CLI::App& app, Invocation& invocation);
void addExpand(CLI::App& app, Invocation& invocation);
void addPatch(CLI::App& app, Invocation& invocation);

/// {"operation": "line_graph", "numbers": [3], "parts": […], "name": "…"}
[[nodiscard]] Json toJson(const finder::Construction& construction);

}  // namespace coppice::cli
