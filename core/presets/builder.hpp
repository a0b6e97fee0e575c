// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "fabric/description.hpp"

namespace coppice::presets {

/// Scene units between neighbouring nodes, and between tiers of switches.
inline constexpr double kSpacing = 100;
inline constexpr double kTierGap = 200;

enum class Capability { none, multicastAndAggregation };

[[nodiscard]] inline Capability capableIf(bool isCapable) {
  return isCapable ? Capability::multicastAndAggregation : Capability::none;
}

/// Collects nodes and links of one preset. Throws Refusal beyond kMaxNodes or kMaxLinks.
class Builder {
public:
  explicit Builder(std::string fabricName) { m_description.name = std::move(fabricName); }

  /// Refuses early, before memory is spent, a fabric that would have more than so many nodes or links.
  void expect(std::int64_t nodes, std::int64_t links);

  /// Ranks count up in the order of the calls. All three return the id.
  std::string gpu(std::string id, std::string_view box, const fabric::Position& position);
  std::string nic(std::string id, std::string_view box, const fabric::Position& position);
  std::string relay(std::string id, std::string_view box, const fabric::Position& position,
                    Capability capability = Capability::none);

  /// `count` parallel links of `bandwidth` each way.
  void link(const std::string& a, const std::string& b, Bandwidth bandwidth, int count = 1);
  void oneWayLink(const std::string& from, const std::string& to, Bandwidth bandwidth);

  [[nodiscard]] fabric::Description take() { return std::move(m_description); }

private:
  fabric::NodeDescription& add(std::string id, fabric::NodeKind kind, std::string_view box,
                               const fabric::Position& position);
  void addLink(fabric::LinkDescription link);

  fabric::Description m_description;
  int m_nextRank = 0;
};

/// Columns and rows that hold `count` nodes: one row up to 8, rows of 8 up to 32, then about twice as wide as high.
struct Grid {
  explicit Grid(int count);
  [[nodiscard]] int column(int index) const { return index % columns; }
  [[nodiscard]] int row(int index) const { return index / columns; }
  [[nodiscard]] double x(int index) const { return kSpacing * column(index); }
  [[nodiscard]] double y(int index) const { return kSpacing * row(index); }
  [[nodiscard]] double width() const { return kSpacing * (columns - 1); }
  [[nodiscard]] double height() const { return kSpacing * (rows - 1); }
  int columns = 1;
  int rows = 1;
};

/// Equal boxes in a grid, room between them, top left at (0, 0).
class Floor {
public:
  Floor(int boxes, double boxWidth, double boxHeight)
      : m_grid(boxes), m_boxWidth(boxWidth), m_stepX(boxWidth + kTierGap), m_stepY(boxHeight + kTierGap) {}
  [[nodiscard]] fabric::Position at(int box, double dx, double dy) const {
    return {.x = m_stepX * m_grid.column(box) + dx, .y = m_stepY * m_grid.row(box) + dy};
  }
  [[nodiscard]] double width() const { return m_stepX * (m_grid.columns - 1) + m_boxWidth; }
  /// Place of switch `index` of `count`, spread over the width of all boxes; tier 1 is the row just above them.
  [[nodiscard]] fabric::Position above(int tier, int index, int count) const;

private:
  Grid m_grid;
  double m_boxWidth;
  double m_stepX;
  double m_stepY;
};

/// x of item `index` of `count`, spread evenly over `width` (at least kSpacing apart) round its middle.
[[nodiscard]] double spread(int index, int count, double width);

/// Place `index` of `count` on a circle on which neighbours are kSpacing apart, starting at the top.
[[nodiscard]] fabric::Position onCircle(int index, int count);

}  // namespace coppice::presets
