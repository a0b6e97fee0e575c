// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/groups/groups_feature.hpp"

#include <QFileInfo>

#include "designer/groups/groups_panel.hpp"

namespace coppice::designer {

GroupsFeature::GroupsFeature(const FeatureHost& host) : GroupsFeature(host, new GroupsPanel(host.window)) {}

GroupsFeature::GroupsFeature(const FeatureHost& host, GroupsPanel* panel)
    : QuestionFeature(host, QStringLiteral("groups"), tr("Groups"), panel) {
  connect(panel, &GroupsPanel::folderAsked, this, [this, panel] {
    EditorContext* context = current();
    const QString start = context != nullptr ? QFileInfo(context->file().path()).absolutePath() : QString();
    if (const QString folder = m_prompts.folder(m_window, tr("Folder for the Schedules"), start); !folder.isEmpty()) {
      panel->write(folder);
    }
  });
}

}  // namespace coppice::designer
