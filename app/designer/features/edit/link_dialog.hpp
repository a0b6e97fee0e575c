// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <set>
#include <vector>

#include "designer/features/edit/ghost_layer.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// Many links at once: between two sets by a pattern, or by names. Shown on the canvas before they are made.
class LinkDialog : public QDialog {
  Q_OBJECT

public:
  explicit LinkDialog(EditorContext& editor, QWidget* parent = nullptr);
  ~LinkDialog() override;

private:
  /// Two sets that fit the selection. Returns whether one to one fits them.
  bool proposeSets();
  void offerPatterns();
  void setUpFields();
  void fillTabs();
  /// Returns the Cancel button.
  QPushButton* layOut();
  [[nodiscard]] Result<std::vector<NodeId>> nodesOf(const QLineEdit& input) const;
  [[nodiscard]] Result<edits::LinkTemplate> linkTemplate() const;
  Outcome fill(Edit& edit) const;
  void preview();
  void take();

  EditorContext& m_editor;
  std::set<ElementId> m_selection;  ///< with what is in selected boxes
  QPointer<GhostLayer> m_ghost;     ///< goes with the canvas
  QTabWidget* m_tabs;
  QLineEdit* m_from;
  QLineEdit* m_to;
  QComboBox* m_pattern;
  QLineEdit* m_names;
  QLineEdit* m_bandwidth;
  QLabel* m_meaning;
  QSpinBox* m_count;
  QCheckBox* m_duplex;
  QLabel* m_summary;
  QPushButton* m_create;
};

}  // namespace coppice::designer
