// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <vector>

#include "designer/canvas/overlay.hpp"

namespace coppice::designer {

/// Data under way at one moment, drawn over the drawing in every frame. Links that are not drawn are ignored.
struct Motion {
  /// A piece on its way along a link.
  struct Piece {
    LinkStep step;
    double at = 0;  ///< 0 at its begin to 1 at its end
    QColor color;
  };
  /// A link that carries something, in one direction.
  struct Flow {
    LinkStep step;
    double share = 0;  ///< of its bandwidth, 0 to 1
    QColor color;
  };
  /// What has come to a GPU.
  struct Arrival {
    NodeId gpu;
    double share = 0;    ///< of all that it receives in the run, 0 to 1
    double merging = 0;  ///< 1 where a piece has just been added to what it has, down to 0 a moment later
  };
  std::vector<Flow> flows;
  std::vector<Piece> pieces;
  std::vector<Arrival> arrivals;

  [[nodiscard]] bool isEmpty() const { return flows.empty() && pieces.empty() && arrivals.empty(); }
};

}  // namespace coppice::designer
