// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/groups_feature.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

GroupsFeature::GroupsFeature(const FeatureHost& host)
    : Feature(host), m_panel(new GroupsPanel(m_window)), m_marks(m_workspace) {
  constexpr double kHeight = 0.42;
  host.addDock({.id = u"groups"_s,
                .title = tr("Groups"),
                .content = m_panel,
                .area = Qt::BottomDockWidgetArea,
                .modes = {Mode::analyse},
                .height = kHeight});
  connect(m_panel, &GroupsPanel::marksChanged, this, [this] { m_marks.show(m_panel->marks()); });
  connect(&m_workspace, &Workspace::currentChanged, this, [this] { m_panel->setContext(current()); });
}

}  // namespace coppice::designer
