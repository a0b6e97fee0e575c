// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/grid_index.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coppice::designer {
namespace {

// Places beyond this are all the same cell; files may name any.
constexpr double kMaxCells = 1e9;
constexpr std::size_t kMaxKeys = 2048;

std::int64_t keyOf(std::int64_t x, std::int64_t y) {
  return (x << 32) | (y & 0xFFFFFFFFLL);
}

}  // namespace

void GridIndex::clear() {
  m_cells.clear();
  m_keysOf.clear();
  m_everywhere.clear();
}

std::int64_t GridIndex::at(double coordinate) const {
  return static_cast<std::int64_t>(std::floor(std::clamp(coordinate / m_cell, -kMaxCells, kMaxCells)));
}

std::vector<GridIndex::Key>& GridIndex::keysOf(std::uint32_t item) {
  if (item >= m_keysOf.size()) {
    m_keysOf.resize(std::size_t{item} + 1);
  }
  return m_keysOf[item];
}

void GridIndex::put(std::uint32_t item) {
  std::vector<Key>& keys = m_keysOf[item];
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const Key key : keys) {
    m_cells[key].push_back(item);
  }
}

void GridIndex::insert(std::uint32_t item, const QRectF& rect) {
  std::vector<Key>& keys = keysOf(item);
  const std::int64_t left = at(rect.left());
  const std::int64_t right = at(rect.right());
  const std::int64_t top = at(rect.top());
  const std::int64_t bottom = at(rect.bottom());
  if (static_cast<double>(right - left + 1) * static_cast<double>(bottom - top + 1) > double{kMaxKeys}) {
    m_everywhere.push_back(item);
    return;
  }
  for (std::int64_t x = left; x <= right; ++x) {
    for (std::int64_t y = top; y <= bottom; ++y) {
      keys.push_back(keyOf(x, y));
    }
  }
  put(item);
}

void GridIndex::insert(std::uint32_t item, const std::vector<QPointF>& points) {
  std::vector<Key>& keys = keysOf(item);
  m_path.clear();
  for (const QPointF& point : points) {
    if (const std::pair cell(at(point.x()), at(point.y())); m_path.empty() || m_path.back() != cell) {
      m_path.push_back(cell);
    }
  }
  double cells = 0;
  for (std::size_t i = 1; i < m_path.size(); ++i) {
    cells += (std::abs(static_cast<double>(m_path[i].first - m_path[i - 1].first)) + 1) *
             (std::abs(static_cast<double>(m_path[i].second - m_path[i - 1].second)) + 1);
  }
  if (cells > double{kMaxKeys}) {
    m_everywhere.push_back(item);
    return;
  }
  for (std::size_t i = 0; i < m_path.size(); ++i) {
    const auto [x1, y1] = m_path[i > 0 ? i - 1 : 0];
    const auto [x2, y2] = m_path[i];
    const auto [left, right] = std::minmax({x1, x2});
    const auto [top, bottom] = std::minmax({y1, y2});
    for (std::int64_t x = left; x <= right; ++x) {
      for (std::int64_t y = top; y <= bottom; ++y) {
        keys.push_back(keyOf(x, y));
      }
    }
  }
  put(item);
}

void GridIndex::remove(std::uint32_t item) {
  if (item >= m_keysOf.size()) {
    return;
  }
  for (const Key key : m_keysOf[item]) {
    const auto found = m_cells.find(key);
    std::erase(found->second, item);
    if (found->second.empty()) {
      m_cells.erase(found);
    }
  }
  if (m_keysOf[item].empty()) {
    std::erase(m_everywhere, item);
  }
  m_keysOf[item].clear();
}

void GridIndex::query(const QRectF& rect, std::vector<std::uint32_t>& result) const {
  result.clear();
  if (++m_stamp == 0) {
    m_stamps.assign(m_stamps.size(), 0);
    m_stamp = 1;
  }
  m_stamps.resize(std::max(m_stamps.size(), m_keysOf.size()), 0);
  const auto take = [&](const std::vector<std::uint32_t>& items) {
    for (const std::uint32_t item : items) {
      if (m_stamps[item] != m_stamp) {
        m_stamps[item] = m_stamp;
        result.push_back(item);
      }
    }
  };
  take(m_everywhere);
  const std::int64_t left = at(rect.left());
  const std::int64_t right = at(rect.right());
  const std::int64_t top = at(rect.top());
  const std::int64_t bottom = at(rect.bottom());
  if (static_cast<double>(right - left + 1) * static_cast<double>(bottom - top + 1) >
      static_cast<double>(m_cells.size())) {
    for (const auto& [key, items] : m_cells) {
      const std::int64_t x = key >> 32;
      const std::int64_t y = static_cast<std::int32_t>(key & 0xFFFFFFFFLL);
      if (x >= left && x <= right && y >= top && y <= bottom) {
        take(items);
      }
    }
  } else {
    for (std::int64_t x = left; x <= right; ++x) {
      for (std::int64_t y = top; y <= bottom; ++y) {
        if (const auto found = m_cells.find(keyOf(x, y)); found != m_cells.end()) {
          take(found->second);
        }
      }
    }
  }
  std::sort(result.begin(), result.end());
}

}  // namespace coppice::designer
