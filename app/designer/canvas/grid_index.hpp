// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coppice::designer {

/// Which items are near a place: a uniform grid of cells. Items are numbers from 0, few of which move at a time.
class GridIndex {
public:
  explicit GridIndex(double cell = 400) : m_cell(cell) {}

  void clear();
  /// An item is known once until remove().
  void insert(std::uint32_t item, const QRectF& rect);
  /// Along a line of points, for items that are long and thin.
  void insert(std::uint32_t item, const std::vector<QPointF>& points);
  void remove(std::uint32_t item);
  /// Candidates, each once, ascending: all whose cells meet the rectangle.
  void query(const QRectF& rect, std::vector<std::uint32_t>& result) const;

private:
  using Key = std::int64_t;
  [[nodiscard]] std::int64_t at(double coordinate) const;
  /// Into the cells of its keys.
  void put(std::uint32_t item);
  std::vector<Key>& keysOf(std::uint32_t item);

  double m_cell;
  std::unordered_map<Key, std::vector<std::uint32_t>> m_cells;
  std::vector<std::vector<Key>> m_keysOf;
  std::vector<std::pair<std::int64_t, std::int64_t>> m_path;  // of insert(): cells of points, without repeats
  std::vector<std::uint32_t> m_everywhere;                    // items that span too many cells
  mutable std::vector<std::uint32_t> m_stamps;
  mutable std::uint32_t m_stamp = 0;
};

}  // namespace coppice::designer
