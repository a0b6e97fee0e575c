// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bfb/bfb.hpp"
#include "command.hpp"
#include "finder/construction.hpp"
#include "topology/digraph.hpp"

/// The commands on topologies, and what they share.
namespace coppice::cli {

void addFindTopology(CLI::App& app, Invocation& invocation);
void addExpand(CLI::App& app, Invocation& invocation);
void addPatch(CLI::App& app, Invocation& invocation);

/// {"operation": "line_graph", "numbers": [3], "parts": […], "name": "…"}
[[nodiscard]] Json toJson(const finder::Construction& construction);

[[nodiscard]] bfb::Digraph asBfb(const topology::Digraph& graph);

}  // namespace coppice::cli
