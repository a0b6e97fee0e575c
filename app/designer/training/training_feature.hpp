// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/schedules/question_feature.hpp"

namespace coppice::designer {

/// How fast a model can be trained on the fabric, and which links limit a step.
class TrainingFeature : public QuestionFeature {
  Q_OBJECT

public:
  explicit TrainingFeature(const FeatureHost& host);
};

}  // namespace coppice::designer
