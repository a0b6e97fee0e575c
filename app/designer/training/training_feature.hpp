// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/schedules/panel_marks.hpp"
#include "designer/training/training_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// How fast a model can be trained on the fabric, and which links limit a step.
class TrainingFeature : public Feature {
  Q_OBJECT

public:
  explicit TrainingFeature(const FeatureHost& host);

private:
  TrainingPanel* m_panel;
  PanelMarks m_marks;
};

}  // namespace coppice::designer
