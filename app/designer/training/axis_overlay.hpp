// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

#include "designer/canvas/overlay.hpp"
#include "designer/training/training_search.hpp"

namespace coppice::designer {

class EditorContext;

/// One group of an axis, and the links that limit it, on the drawing.
/// @param word of the axis: "tp" @param group the ranks of its first group
[[nodiscard]] Overlay axisOverlay(const EditorContext& context, const TrainingAnswer& answer, const QString& word,
                                  const std::vector<fabric::Rank>& group, const std::vector<workflow::CutLinks>& cut);

}  // namespace coppice::designer
