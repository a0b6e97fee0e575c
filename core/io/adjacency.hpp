// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

namespace coppice::io {

/// Reads the form in which the official ForestColl code holds a fabric: a directed graph with a capacity (one direction
/// of one edge, GB/s) on every edge, labels of any kind, and the set of compute nodes. Four texts are understood.
///
/// 1. JSON edge list:  {"compute_nodes": [L...], "nodes": [L...], "edges": [[L, L, C]...]}
/// 2. networkx node-link JSON:  {"directed": true, "nodes": [{"id": L}...], "compute_nodes": [L...],
///    "links": [{"source": L, "target": L, "capacity": C}...]}
///    "edges" and "links" are one key under two names, and entries of both shapes may be mixed. "src" and "dst" stand
///    for source and target. "directed": false makes every edge hold in both directions. A node may state a "kind".
///    "name" is kept; other keys are noted and ignored. Only the edges are mandatory.
/// 3. JSON matrix:  [[C...]...]  or  {"matrix": [[C...]...], "nodes": [L...], "compute_nodes": [L...]}
///    Row i, column j: capacity from node i to node j; 0 = no edge. Without "nodes" the labels are 0, 1, 2 ...
/// 4. Text matrix, one row a line, numbers apart by blanks, tabs, commas or semicolons. Before the rows may stand
///    a line  compute_nodes: L L L  (a leading # is allowed), and a line of N column names; rows may then begin with
///    their name. Blank lines and lines beginning with # are ignored.
///
/// L, a label: a string, a number, or an array, which becomes the text of the Python tuple: [0,"GPU",1] is
/// (0, 'GPU', 1). C, a capacity: a number or a string such as "25/2" or "400Gb/s", kept as written.
/// Without compute_nodes: stated kinds count, else nodes labelled (server, 'GPU', index) are the GPUs, else every node
/// is one (a note says so). Ranks follow compute_nodes, except that GPUs labelled (server, 'GPU', index) are all ranked
/// by server, then index, as the official README does; the box is the server.
/// Opposite edges of equal capacity become one duplex link. Edges from a node to itself are left out with a warning.
///
/// Errors: badInput with line and column; limit (64 MiB, 65,536 nodes, 4,096 in a matrix).
Result<ImportResult> readAdjacency(std::string_view text, const std::string& fileName);

/// Writes form 1, one node or edge a line: parallel links of one direction merge into one edge, capacities that are no
/// finite decimals are strings "p/q", compute_nodes are in rank order. Boxes, latencies, positions and capabilities
/// have no place in this form, and a nic becomes a relay like a switch.
/// Errors: badInput naming a link with a bandwidth, count or end that cannot be used; overflow.
Result<std::string> writeAdjacency(const fabric::Description& description);

}  // namespace coppice::io
