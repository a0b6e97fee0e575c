// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/groups/groups_panel.hpp"
#include "designer/schedules/panel_marks.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// How fast collectives of several groups are that run at the same time.
class GroupsFeature : public Feature {
  Q_OBJECT

public:
  explicit GroupsFeature(const FeatureHost& host);

private:
  GroupsPanel* m_panel;
  PanelMarks m_marks;
};

}  // namespace coppice::designer
