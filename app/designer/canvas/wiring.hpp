// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "designer/canvas/curve.hpp"
#include "designer/canvas/grid_index.hpp"
#include "designer/canvas/router.hpp"

namespace coppice::designer {

/// All that the routes of links depend on, by value: a snapshot of a scene that any thread may work on.
struct Wiring {
  struct Shape {
    QRectF rect;
    std::int32_t box = -1;  ///< index of the unfolded box around it; -1: none
  };
  struct Room {
    QRectF rect;
    std::int32_t parent = -1;  ///< index of the box around it
  };
  struct Wire {
    std::uint32_t a = 0;  ///< indices of shapes
    std::uint32_t b = 0;
    double portA = 0;  ///< as LineRequest has them
    double portB = 0;
    LineStyle style = LineStyle::cable;
    std::uint32_t letters = 0;  ///< of the number that is on it; 0: none does
  };
  std::vector<Shape> shapes;
  std::vector<Room> rooms;
  std::vector<Wire> wires;

  [[nodiscard]] LineRequest requestOf(std::uint32_t wire) const;
};

/// How all wires run, and an index of where.
struct Routes {
  std::vector<Curve> curves;
  std::vector<QRectF> bounds;
  GridIndex index;
  /// Where on the curve a number is clear of the others; -1: nowhere.
  std::vector<double> numberAt;
};

/// A wire without detours, through whatever is there.
[[nodiscard]] Curve straightCurve(const Wiring& wiring, std::uint32_t wire);
/// straightCurve() of every wire: what is drawn until the routes around shapes are known.
[[nodiscard]] Routes straightRoutes(const Wiring& wiring);

/// Routes of some wires around the shapes and boxes between their ends; those that share a passage keep apart
/// in it. A function of its arguments alone. nullopt: stopped.
[[nodiscard]] std::optional<std::vector<Curve>> routed(const Wiring& wiring, std::span<const std::uint32_t> wires,
                                                       const std::stop_token& stop = {});
/// routed() of every wire.
[[nodiscard]] std::optional<Routes> routesOf(const Wiring& wiring, const std::stop_token& stop = {});

}  // namespace coppice::designer
