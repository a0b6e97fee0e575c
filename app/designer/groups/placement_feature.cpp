// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/placement_feature.hpp"

#include "designer/groups/placement_panel.hpp"

namespace coppice::designer {

PlacementFeature::PlacementFeature(const FeatureHost& host)
    : QuestionFeature(host, QStringLiteral("placement"), tr("Place Job"), new PlacementPanel(host.window)) {}

}  // namespace coppice::designer
