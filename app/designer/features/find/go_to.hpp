// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QPointer>
#include <vector>

#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// Type part of a name, press Enter, and stand before the node or box.
class GoTo : public QDialog {
  Q_OBJECT

public:
  explicit GoTo(EditorContext& editor, QWidget* parent = nullptr);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void fill(const QString& typed);
  void go();

  QPointer<EditorContext> m_editor;
  QLineEdit* m_input;
  QListWidget* m_list;
};

}  // namespace coppice::designer
