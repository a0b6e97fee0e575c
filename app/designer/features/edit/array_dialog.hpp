// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QPointer>
#include <QPushButton>
#include <QSpinBox>
#include <set>

#include "designer/features/edit/ghost_layer.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// Copies of the selection in rows, with their links, shown on the canvas before they are made.
class ArrayDialog : public QDialog {
  Q_OBJECT

public:
  explicit ArrayDialog(EditorContext& editor, QWidget* parent = nullptr);
  ~ArrayDialog() override;

private:
  void setUpFields();
  void listOuterLinks();
  /// Returns the Cancel button.
  QPushButton* layOut();
  [[nodiscard]] edits::ArrayOptions options() const;
  /// The whole edit. Errors: those of edits::replicate.
  Outcome fill(Edit& edit, std::set<ElementId>* made) const;
  void preview();
  void take();

  EditorContext& m_editor;
  std::set<ElementId> m_elements;
  QPointer<GhostLayer> m_ghost;  ///< goes with the canvas
  QSpinBox* m_count;
  QSpinBox* m_columns;
  QCheckBox* m_inner;
  QLabel* m_outerHead;
  QListWidget* m_outer;
  QCheckBox* m_instances;
  QLabel* m_summary;
  QPushButton* m_create;
};

}  // namespace coppice::designer
