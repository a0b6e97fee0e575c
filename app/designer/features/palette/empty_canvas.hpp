// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QWidget>

#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// In the middle of an empty drawing: what fills it, and the buttons that do. It goes with the first element, and while
/// a tool other than Select is chosen.
class EmptyCanvas : public QWidget {
  Q_OBJECT

public:
  /// A child of the editor's canvas. @param actions of its buttons, with their shortcuts
  EmptyCanvas(EditorContext& editor, const QList<QAction*>& actions);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void follow();

  EditorContext& m_editor;
};

}  // namespace coppice::designer
