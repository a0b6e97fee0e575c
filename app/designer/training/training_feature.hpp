// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/training/training_panel.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// How fast a model can be trained on the fabric, and which links limit a step.
class TrainingFeature : public Feature {
  Q_OBJECT

public:
  explicit TrainingFeature(const FeatureHost& host);

private:
  /// What the panel marks takes the place of the cut, which comes back with the last mark.
  void showMarks();

  TrainingPanel* m_panel;
  QPointer<EditorContext> m_marked;
};

}  // namespace coppice::designer
