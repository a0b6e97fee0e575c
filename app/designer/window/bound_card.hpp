// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QPointer>
#include <QWidget>

#include "designer/window/editor.hpp"

namespace coppice::designer {

/// The number that matters, its exact fraction, why it is so, the tied cuts, and the cut ratio of what is selected. A
/// click on a cut shows it on the canvas, a double click selects what is inside it.
class BoundCard : public QWidget {
  Q_OBJECT

public:
  explicit BoundCard(QWidget* parent = nullptr);
  void setEditor(Editor* editor);

private:
  void update();
  void showCut();
  void showLens();

  QPointer<Editor> m_editor;
  QLabel* m_number;
  QLabel* m_exact;
  QLabel* m_why;
  QLabel* m_formula;
  QLabel* m_cutsHead;
  QListWidget* m_cuts;
  QLabel* m_lensHead;
  QLabel* m_lens;
};

}  // namespace coppice::designer
