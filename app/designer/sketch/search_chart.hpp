// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// Two curves over the time of a search: the best schedule so far, and what no schedule is shorter than.
class SearchChart : public Plot {
  Q_OBJECT

public:
  explicit SearchChart(QWidget* parent = nullptr);

  /// @param seconds to draw to
  void show(const std::vector<SearchTrace::Point>& points, double seconds);

private:
  void draw();

  std::vector<SearchTrace::Point> m_found;
  double m_seconds = 1;
};

}  // namespace coppice::designer
