// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/measured_points.hpp"

#include <algorithm>
#include <utility>

namespace coppice::designer {

MeasuredPoints& MeasuredPoints::instance() {
  static MeasuredPoints points;
  return points;
}

void MeasuredPoints::set(MeasuredPoint point) {
  const auto known = std::ranges::find_if(m_points, [&](const MeasuredPoint& other) {
    return other.run == point.run && other.collective == point.collective;
  });
  if (known != m_points.end()) {
    *known = std::move(point);
  } else {
    m_points.push_back(std::move(point));
  }
}

std::vector<MeasuredPoint> MeasuredPoints::of(Collective collective, int gpus) const {
  std::vector<MeasuredPoint> found;
  for (const MeasuredPoint& point : m_points) {
    if (point.collective == collective && point.gpus == gpus) {
      found.push_back(point);
    }
  }
  return found;
}

}  // namespace coppice::designer
