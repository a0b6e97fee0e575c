// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <utility>

#include "designer/workspace/workspace.hpp"

namespace coppice::designer {

/// What a panel of Analyse mode lays over the drawing in place of the cut, which comes back when there is nothing more
/// to show.
class PanelMarks {
public:
  explicit PanelMarks(Workspace& workspace) : m_workspace(workspace) {}

  void show(Overlay marks) {
    EditorContext* context = m_workspace.current();
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

private:
  Workspace& m_workspace;
  QPointer<EditorContext> m_marked;
};

}  // namespace coppice::designer
