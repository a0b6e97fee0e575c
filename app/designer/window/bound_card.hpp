// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QPointer>
#include <QWidget>

#include "designer/window/editor.hpp"

namespace coppice::designer {

/// The number that matters, its exact fraction, why it is so, and the tied cuts. A click on a cut selects what is
/// inside it.
class BoundCard : public QWidget {
  Q_OBJECT

public:
  explicit BoundCard(QWidget* parent = nullptr);
  void setEditor(Editor* editor);

private:
  void update();

  QPointer<Editor> m_editor;
  QLabel* m_number;
  QLabel* m_exact;
  QLabel* m_why;
  QLabel* m_formula;
  QLabel* m_cutsHead;
  QListWidget* m_cuts;
};

}  // namespace coppice::designer
