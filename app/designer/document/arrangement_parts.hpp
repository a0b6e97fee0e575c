// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "designer/document/model.hpp"

/// Inside of arrangement.cpp: the graph it works on, blocks of placed nodes, and GPUs that are linked directly.
namespace coppice::designer::arrangement {

enum class Kind { gpu, nic, bar };

/// The nodes to arrange, numbered from 0 in their natural order (rank, then name with numbers as numbers).
struct Graph {
  struct Edge {
    int to = 0;
    double bandwidth = 0;  ///< GB/s, all parallel links together
  };
  struct Vertex {
    NodeId id;
    Kind kind = Kind::gpu;
    BoxId box;
    std::vector<Edge> edges;   ///< one for each neighbour
    double barWidth = 0;       ///< of a switch, by its ports
    bool isLinkedOut = false;  ///< to a node that is not among those to arrange
  };
  std::vector<Vertex> vertices;

  [[nodiscard]] double width(int vertex) const;
  [[nodiscard]] double height(int vertex) const;
};

[[nodiscard]] Graph graphOf(const Model& model, const std::vector<NodeId>& ids);

/// Placed nodes; (0, 0) is the top left corner, and the network is above.
struct Block {
  std::vector<std::pair<int, QPointF>> places;  ///< vertex and its centre
  double width = 0;
  double height = 0;

  void add(const Block& other, const QPointF& at);
  /// Upside down.
  void flip();
  /// Room on all sides.
  void pad(double horizontal, double vertical);
};

/// One vertex.
[[nodiscard]] Block blockOf(const Graph& graph, int vertex);

/// Centres nearest to the wanted ones (ascending by order, not by value) that leave `gap` between things of these
/// widths: least squares, by pooling adjacent violators (isotonic regression).
[[nodiscard]] std::vector<double> spreadOut(const std::vector<double>& wanted, const std::vector<double>& widths,
                                            double gap);

/// Centres for n equal things with these links among them (pairs a < b, each once); pitch = smallest distance of rows
/// and columns. `isOpen`: links go from them to elsewhere, so that lanes must be left between them.
[[nodiscard]] std::vector<QPointF> meshPlaces(int count, const std::vector<std::pair<int, int>>& links, bool isOpen,
                                              const Progress& progress);

/// Sides of the grid, the last counting fastest, whose lines (open or closed) are exactly these links; empty if there
/// is none of at most kMaxDimensions. Fewest sides first.
[[nodiscard]] std::vector<int> latticeSides(int count, const std::vector<std::pair<int, int>>& links);

}  // namespace coppice::designer::arrangement
