// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/groups_feature.hpp"

#include "designer/groups/groups_panel.hpp"

namespace coppice::designer {

GroupsFeature::GroupsFeature(const FeatureHost& host)
    : QuestionFeature(host, QStringLiteral("groups"), tr("Groups"), new GroupsPanel(host.window)) {}

}  // namespace coppice::designer
