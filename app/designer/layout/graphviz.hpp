// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QSizeF>
#include <map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "designer/document/model.hpp"
#include "io/dot_process.hpp"

/// Graphviz as the designer uses it: through the helper process, which may be slow, stopped or crash.
namespace coppice::designer {

/// A graph to be laid out, numbered from 0.
struct PlainGraph {
  std::vector<QSizeF> sizes;  ///< of the nodes, scene units
  /// From above to below where layers are made.
  std::vector<std::pair<int, int>> edges;
  /// Nodes that stay together (dot, fdp), nested to any depth; empty: none.
  std::vector<std::vector<int>> clusters = {};
  double nodeGap = 40;   ///< scene units between neighbours of a layer
  double layerGap = 80;  ///< between layers
};

/// Centres of the nodes, scene units, y downwards, the top left corner of all at the origin.
/// Errors: as io::layOutDotWithHelper; io for an answer that is none.
[[nodiscard]] Result<std::vector<QPointF>> laidOut(const PlainGraph& graph, io::DotLayout layout,
                                                   const io::DotHelperOptions& options = {});

/// New centres for these nodes of a model, GPUs below NICs below switches where layers are made; boxes stay together
/// where the engine can. Not moved to any place (see fitted()). Errors: as laidOut.
[[nodiscard]] Result<std::map<NodeId, Point>> laidOut(const Model& model, const std::vector<NodeId>& ids,
                                                      io::DotLayout layout, const io::DotHelperOptions& options = {});

}  // namespace coppice::designer
