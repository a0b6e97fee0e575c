// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/question_feature.hpp"

#include <utility>

namespace coppice::designer {

QuestionFeature::QuestionFeature(const FeatureHost& host, const QString& id, const QString& title, QuestionPanel* panel)
    : Feature(host) {
  constexpr double kHeight = 0.42;
  host.addDock({.id = id,
                .title = title,
                .content = panel,
                .area = Qt::BottomDockWidgetArea,
                .modes = {Mode::analyse},
                .height = kHeight});
  connect(panel, &QuestionPanel::marksChanged, this, [this, panel] { show(panel->marks()); });
  connect(&m_workspace, &Workspace::currentChanged, this, [this, panel] { panel->setContext(current()); });
}

void QuestionFeature::show(Overlay marks) {
  EditorContext* context = current();
  if (m_marked && (m_marked != context || marks.isEmpty())) {
    m_marked->setCutShown(m_workspace.mode() == Mode::analyse);
    m_marked = nullptr;
  }
  if (context != nullptr && !marks.isEmpty()) {
    context->setCutShown(false);
    context->canvas().setOverlay(std::move(marks));
    m_marked = context;
  }
}

}  // namespace coppice::designer
