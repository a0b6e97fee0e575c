// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/charts/plot_axis.hpp"

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// 1, 2, 5, 10, 20 …
double roundStep(double wanted) {
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= wanted) {
      return digit * power;
    }
  }
  return 10 * power;
}

FittedAxis fittedWhole(double low, double high) {
  constexpr double kSide = 0.6;
  constexpr double kTicks = 16;
  return {.min = low - kSide,
          .max = high + kSide,
          .tick = roundStep(std::max(1.0, (high - low + 1) / kTicks)),
          .format = u"%.0f"_s};
}

FittedAxis fittedLinear(double low, double high) {
  // Nothing lies on the frame, also where all is the same.
  constexpr double kMinSpan = 0.02;
  constexpr double kRoom = 0.08;
  constexpr double kTicks = 5;
  high = high > 0 ? high : 1;
  const double span = std::max(high - low, high * kMinSpan);
  const double tick = roundStep(span / kTicks);
  const double min = low > 0 ? std::floor((std::min(low, high - span) - kRoom * span) / tick) * tick : 0;
  const int places = std::max(0, static_cast<int>(std::ceil(-std::log10(tick) - 1e-9)));
  return {.min = std::max(0.0, min),
          .max = std::ceil((high + kRoom * span) / tick) * tick,
          .tick = tick,
          .format = u"%."_s + QString::number(places) + u'f'};
}

FittedAxis fittedLog(double low, double high) {
  constexpr double kRoom = 1.01;
  return {.min = std::pow(10, std::floor(std::log10(low / kRoom))),
          .max = std::pow(10, std::ceil(std::log10(high * kRoom))),
          .format = u"%g"_s};
}

FittedAxis fittedSizes(const std::vector<double>& values, double low, double high) {
  const double first = std::log2(low);
  const double last = std::max(std::log2(high), first + 1);
  constexpr double kRoom = 0.02;
  FittedAxis axis{.min = std::exp2(first - kRoom * (last - first)), .max = std::exp2(last + kRoom * (last - first))};
  for (const double value : values) {
    axis.sizes.push_back(std::llround(value));
  }
  std::sort(axis.sizes.begin(), axis.sizes.end());
  axis.sizes.erase(std::unique(axis.sizes.begin(), axis.sizes.end()), axis.sizes.end());
  return axis;
}

}  // namespace

FittedAxis fitted(const PlotAxis& axis, const std::vector<double>& values) {
  if (values.empty()) {
    return fitted(axis, {1, 4});
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  FittedAxis fit;
  switch (axis.scale) {
    case PlotAxis::Scale::linear:
      fit = fittedLinear(axis.fromZero ? 0 : *low, *high);
      break;
    case PlotAxis::Scale::whole:
      fit = fittedWhole(*low, *high);
      break;
    case PlotAxis::Scale::logarithmic:
      fit = fittedLog(*low, *high);
      break;
    case PlotAxis::Scale::sizes:
      fit = fittedSizes(values, *low, *high);
      break;
  }
  if (axis.range) {
    fit.min = axis.range->min;
    fit.max = axis.range->max;
    fit.tick = axis.scale == PlotAxis::Scale::whole ? fittedWhole(fit.min, fit.max).tick : axis.range->tick;
  }
  fit.format = axis.format.isEmpty() ? fit.format : axis.format;
  return fit;
}

std::size_t nearestSize(const std::vector<std::int64_t>& sizes, double bytes) {
  const auto away = [bytes](std::int64_t size) { return std::abs(std::log2(static_cast<double>(size) / bytes)); };
  const auto nearest =
      std::min_element(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) { return away(a) < away(b); });
  return static_cast<std::size_t>(nearest - sizes.begin());
}

}  // namespace coppice::designer
