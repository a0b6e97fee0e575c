// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/training_feature.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

TrainingFeature::TrainingFeature(const FeatureHost& host) : Feature(host), m_panel(new TrainingPanel(m_window)) {
  constexpr double kHeight = 0.42;
  host.addDock({.id = u"training"_s,
                .title = tr("Training"),
                .content = m_panel,
                .area = Qt::BottomDockWidgetArea,
                .modes = {Mode::analyse},
                .height = kHeight});
  connect(m_panel, &TrainingPanel::marksChanged, this, &TrainingFeature::showMarks);
  connect(&m_workspace, &Workspace::currentChanged, this, [this] {
    m_panel->setContext(current());
    showMarks();
  });
}

void TrainingFeature::showMarks() {
  EditorContext* context = current();
  Overlay marks;
  if (context != nullptr && m_panel->isVisible() && m_panel->isCurrent()) {
    marks = m_panel->details().marksOf(*context);
  }
  if (m_marked && (m_marked != context || marks.isEmpty())) {
    m_marked->setCutShown(m_workspace.mode() == Mode::analyse);
    m_marked = nullptr;
  }
  if (!marks.isEmpty()) {
    context->setCutShown(false);
    context->canvas().setOverlay(std::move(marks));
    m_marked = context;
  }
}

}  // namespace coppice::designer
