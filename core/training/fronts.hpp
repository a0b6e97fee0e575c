// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/checked.hpp"

namespace coppice::training {

/// What something costs, in whole numbers of the search's units.
struct Point {
  std::int64_t compute = 0;
  std::int64_t communication = 0;
  std::int64_t memory = 0;

  friend auto operator<=>(const Point&, const Point&) = default;
  friend Point operator+(const Point& a, const Point& b) {
    return {checkedAdd(a.compute, b.compute), checkedAdd(a.communication, b.communication),
            checkedAdd(a.memory, b.memory)};
  }
  friend Point operator-(const Point& a, const Point& b) {
    return {a.compute - b.compute, a.communication - b.communication, a.memory - b.memory};
  }
};

/// Collects points and keeps those that no other is as good as in all three.
class FrontBuilder {
public:
  void clear() {
    m_points.clear();
    m_kept = 0;
  }

  void add(std::span<const Point> points) {
    constexpr std::size_t kMany = 4096;
    m_points.insert(m_points.end(), points.begin(), points.end());
    if (m_points.size() > 2 * m_kept + kMany) {
      finish(0);
    }
  }

  /// Afterwards points() is the front, ascending. With `thinning` a point is left out as well where another is at most
  /// that part more in all three.
  void finish(double thinning) {
    if (m_points.size() > 1) {
      std::sort(m_points.begin(), m_points.end());
      m_stairs.clear();
      std::size_t kept = 0;
      for (const Point& point : m_points) {
        if (!isCovered(point)) {
          m_points[kept++] = point;
          addStair(point);
        }
      }
      m_points.resize(kept);
      if (thinning > 0) {
        thin(thinning);
      }
    }
    m_kept = m_points.size();
  }

  [[nodiscard]] std::span<const Point> points() const { return m_points; }

private:
  /// By an earlier point, which has no more compute.
  [[nodiscard]] bool isCovered(const Point& point) const {
    const auto above = m_stairs.upper_bound(point.communication);
    return above != m_stairs.begin() && std::prev(above)->second <= point.memory;
  }

  void addStair(const Point& point) {
    auto at = m_stairs.insert_or_assign(point.communication, point.memory).first;
    for (++at; at != m_stairs.end() && at->second >= point.memory;) {
      at = m_stairs.erase(at);
    }
  }

  void thin(double part) {
    const auto isNear = [part](std::int64_t a, std::int64_t b) {
      return a <= b || static_cast<double>(a) <= static_cast<double>(b) * (1 + part);
    };
    std::vector<Point> left;
    for (const Point& point : m_points) {
      const bool hasNear = std::any_of(left.rbegin(), left.rend(), [&](const Point& kept) {
        return isNear(kept.compute, point.compute) && isNear(kept.communication, point.communication) &&
               isNear(kept.memory, point.memory);
      });
      if (!hasNear) {
        left.push_back(point);
      }
    }
    m_points = std::move(left);
  }

  std::vector<Point> m_points;
  std::size_t m_kept = 0;
  std::map<std::int64_t, std::int64_t> m_stairs;  ///< communication to the least memory with no more of it
};

}  // namespace coppice::training
