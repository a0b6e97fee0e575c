// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/schedules/question_feature.hpp"

namespace coppice::designer {

/// Which of the free GPUs a job should get.
class PlacementFeature : public QuestionFeature {
  Q_OBJECT

public:
  explicit PlacementFeature(const FeatureHost& host);
};

}  // namespace coppice::designer
