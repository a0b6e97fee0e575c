// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <cstdint>
#include <span>
#include <vector>

#include "designer/canvas/curve.hpp"

/// How links run between shapes: pure geometry.
namespace coppice::designer {

/// Sides of a shape that links leave from.
enum class Side : std::uint8_t { top, bottom, left, right };

/// Where a link between two shapes leaves the first, by where the second is: up and down where there is room between
/// them, else sideways.
[[nodiscard]] Side sideOf(const QRectF& self, const QRectF& other);

enum class LineStyle : std::uint8_t {
  cable,  ///< leaves vertically, as from a switch
  direct  ///< straight from shape to shape, as between GPUs
};

/// What the router is asked: the shapes at both ends, and where on their sides the link is to leave (from the middle
/// of the side; not looked at for direct ones).
struct LineRequest {
  QRectF a;
  QRectF b;
  double portA = 0;
  double portB = 0;
  LineStyle style = LineStyle::cable;
};

/// Finds a route for one link at a time, around what is in the way: through gaps in rows of shapes, each kept
/// straight as long as can be, over or under shapes of the same row, or in a bow.
class Router {
public:
  /// A vertical stretch between shapes, or a level one over them, that other links may want too; bent so that links
  /// keep apart by spread().
  struct Passage {
    double low = 0;  ///< the free room, from where to where (x of a vertical stretch, y of a level one)
    double high = 0;
    double wish = 0;   ///< where in it
    double start = 0;  ///< the stretch itself (y of a vertical one, x of a level one)
    double end = 0;
    bool isFixed = false;  ///< it goes straight on from an end
  };
  enum class Way : std::uint8_t {
    plain,   ///< one piece
    gaps,    ///< through gaps in rows; its passages are vertical
    bridge,  ///< over shapes of its row; its passage is level
    aside    ///< as a bridge, beside shapes of its column; its passage is vertical
  };
  struct Route {
    Curve curve;
    Way way = Way::plain;
    bool isClear = false;  ///< known to meet nothing
    std::vector<Passage> passages = {};
  };

  /// Where obstacles come from: all rectangles that meet the area, without those of the two ends and what holds them.
  using Obstacles = std::vector<QRectF>;

  /// `obstacles`: gives those near an area. Called a few times.
  template <typename Query>
  [[nodiscard]] Route route(const LineRequest& request, const Query& obstacles) {
    // What is near first; only where that leaves no way, what is far.
    Route best;
    for (int round = 0; round < 2; ++round) {
      m_reach = reachOf(round);
      m_obstacles.clear();
      obstacles(areaOf(request, m_reach), m_obstacles);
      best = routeAmong(request);
      if (request.style == LineStyle::direct || best.isClear || isFree(best.curve)) {
        break;
      }
    }
    return best;
  }
  /// The route where nothing is between.
  [[nodiscard]] static Curve plain(const LineRequest& request);
  /// The curve through its passages at other places within them, as many as the route has.
  [[nodiscard]] static Curve through(const LineRequest& request, const Route& route, std::span<const double> places);

private:
  [[nodiscard]] static double reachOf(int round);
  [[nodiscard]] static QRectF areaOf(const LineRequest& request, double reach);
  [[nodiscard]] Route routeAmong(const LineRequest& request);
  [[nodiscard]] Route cable(const LineRequest& request);
  [[nodiscard]] Route beside(const LineRequest& request);
  [[nodiscard]] Route direct(const LineRequest& request);
  [[nodiscard]] bool throughGaps(const LineRequest& request, Route& route);
  /// Over the shapes between two of one row; `isColumn`: beside those between two of one column.
  [[nodiscard]] bool overRow(const LineRequest& request, bool isColumn, Route& route);
  /// How many obstacles it meets, counted up to `max`.
  [[nodiscard]] int hits(const Curve& curve, int max = 1000) const;
  [[nodiscard]] bool isFree(const Curve& curve) const;

  Obstacles m_obstacles;
  mutable std::vector<QRectF> m_pieces;
  double m_reach = 0;
};

}  // namespace coppice::designer
