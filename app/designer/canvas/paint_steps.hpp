// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "designer/canvas/canvas_painter.hpp"

/// What the files of the painter share.
namespace coppice::designer {

/// Of what is in no overlay, where the rest steps back.
inline constexpr double kDimmedOpacity = 0.28;
/// Of a hull over what it holds.
inline constexpr double kHullOpacity = 0.82;

/// Items a few at a time.
template <typename Item, typename Paint>
void addInSteps(PaintSteps& result, std::vector<Item> items, Paint paint) {
  constexpr std::size_t kAtATime = 48;
  const auto all = std::make_shared<const std::vector<Item>>(std::move(items));
  for (std::size_t start = 0; start < all->size(); start += kAtATime) {
    result.steps.emplace_back([all, start, paint](QPainter& painter) {
      for (std::size_t i = start; i < std::min(start + kAtATime, all->size()); ++i) {
        paint(painter, (*all)[i]);
      }
    });
  }
}

}  // namespace coppice::designer
