// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

/// Graphviz DOT through libcgraph. Only core/dot and app/dot-helper know Graphviz (EPL); other programs talk to the
/// helper coppice-dot. libcgraph keeps global state and cannot be stopped: one call at a time (a lock sees to that),
/// and callers that need a time limit run the helper and ends it.
namespace coppice::dot {

/// Reads the first graph of a DOT text.
///
/// Nodes: `kind` (gpu, nic, switch), `rank`, `pos` ("x,y" in points, an ending "!" allowed; y is not turned round),
/// `multicast`, `aggregation`, `box`; every other attribute that is not empty goes to `extra` as a string. Where kind
/// is absent it is guessed from the name (gpu; nic, hca, mlx; sw, switch, leaf, spine, rail, plane, tor), else from the
/// shape (hexagon, octagon, diamond, circle: switch; component, cds: nic), else it is gpu; a note says so.
/// A subgraph whose name begins with "cluster" is a box, called after its attribute `box`, else its `label`, else its
/// name after "cluster_"; nested clusters nest ("outer/inner"). Further attributes of a cluster go to the fabric's
/// extra key "clusters". Other subgraphs only group nodes.
///
/// Edges: bandwidth from the first attribute present of `bandwidth`, `bw`, `capacity`, `label` (a note says which if it
/// is not the first); `dir` = forward, back, both, none, or `duplex` = true, false; without either an edge of a digraph
/// is one way and an edge of a graph is duplex. `count`, `latency`; the rest goes to `extra`.
/// The graph's own attributes go to the fabric's `extra`. Defaults (node [...], edge [...]) apply. A value "json:..."
/// that holds JSON is kept as that JSON, and a key "extra:NAME" as the extra key NAME (writeDot makes both).
///
/// Limits: 16 MiB, braces nested 64 deep, 256 different attribute names, 262,144 nodes, 1,048,576 edges.
/// Errors: badInput (syntax with line; an edge without bandwidth; a value that cannot be read), limit.
Result<io::ImportResult> readDot(std::string_view text, const std::string& fileName);

/// Writes a digraph that readDot turns back into an equal description: boxes as clusters, duplex links as dir=both,
/// each node with kind and a shape for it, each edge with bandwidth and the same as label.
/// Errors: badInput (a link's end is not a node, an id twice or empty, a zero byte), limit (attribute names).
Result<std::string> writeDot(const fabric::Description& description);

}  // namespace coppice::dot
