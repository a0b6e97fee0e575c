// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "topology/digraph.hpp"

/// The expansions of the dissertation (3.5, A.4). All check sizes before memory is spent; errors: badUsage, limit.
namespace coppice::topology {

/// L(G), Definition 12: a node for every link uv, with a link to every link vw. dN nodes of degree d.
/// Link j of node v is node v d + j. Errors: badUsage for degree 1, whose line graph is the graph itself.
[[nodiscard]] Result<Digraph> lineGraph(const Digraph& graph);

/// G * n, Definition 13: n copies of every node, every link between all copies of its ends. Copy i of node v is v n +
/// i. Errors: badUsage where G has self-loops.
[[nodiscard]] Result<Digraph> degreeExpansion(const Digraph& graph, int copies);

/// Cartesian product, Definition 3; node (u, v) is u |second| + v. Self-loops stay.
[[nodiscard]] Result<Digraph> product(const Digraph& first, const Digraph& second);

/// G^n, the product of n copies.
[[nodiscard]] Result<Digraph> power(const Digraph& graph, int exponent);

/// G and its transpose together, A.1.6: degree 2d, every link in both directions.
[[nodiscard]] Result<Digraph> bidirected(const Digraph& graph);

}  // namespace coppice::topology
