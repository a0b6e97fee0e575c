// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/training_feature.hpp"

#include "designer/training/training_panel.hpp"

namespace coppice::designer {

TrainingFeature::TrainingFeature(const FeatureHost& host)
    : QuestionFeature(host, QStringLiteral("training"), tr("Training"), new TrainingPanel(host.window)) {}

}  // namespace coppice::designer
