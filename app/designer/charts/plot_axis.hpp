// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace coppice::designer {

/// One direction of a Plot, as its owner asks for it.
struct PlotAxis {
  enum class Scale {
    linear,       ///< round ends and labels around the values
    whole,        ///< whole numbers, with room for marks at the first and the last
    logarithmic,  ///< whole decades
    sizes,        ///< logarithmic in bytes, labelled with the sizes of the values
  };
  struct Range {
    double min;
    double max;
    double tick = 0;  ///< a label at each multiple; 0 = as many as there is room for
  };
  QString title = {};
  Scale scale = Scale::linear;
  bool fromZero = false;
  /// In place of one that fits the values.
  std::optional<Range> range = {};
  /// Of labels, as for printf; empty = by the distance of the labels.
  QString format = {};
  bool hasGrid = true;
};

/// The axis for certain values.
struct FittedAxis {
  double min = 0;
  double max = 1;
  double tick = 0;  ///< a label at each multiple; 0 = as many as there is room for
  QString format = {};
  std::vector<std::int64_t> sizes = {};  ///< that can be labelled, ascending
};

/// @param values finite; above 0 for logarithmic scales. Without values: any axis.
[[nodiscard]] FittedAxis fitted(const PlotAxis& axis, const std::vector<double>& values);

/// The index of the size that is nearest on a logarithmic axis; there is at least one.
[[nodiscard]] std::size_t nearestSize(const std::vector<std::int64_t>& sizes, double bytes);

}  // namespace coppice::designer
