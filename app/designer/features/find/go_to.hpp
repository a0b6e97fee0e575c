// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/workspace/editor_context.hpp"
#include "designer/workspace/pick_popup.hpp"

namespace coppice::designer {

/// Type part of a name and press Enter to go to the node or box.
class GoTo : public PickPopup {
  Q_OBJECT

public:
  explicit GoTo(EditorContext& editor, QWidget* parent = nullptr);

protected:
  void fill(const QString& typed) override;
  void take(const QListWidgetItem& item) override;

private:
  QPointer<EditorContext> m_editor;
};

}  // namespace coppice::designer
