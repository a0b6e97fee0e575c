// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QToolButton>
#include <QWidget>

#include "designer/window/editor.hpp"

namespace coppice::designer {

/// The line that is always there: collective and exact bound, the cut in words, validity, saved state, unit. Every part
/// can be clicked. A value that is being recomputed is greyed.
class StatusStrip : public QWidget {
  Q_OBJECT

public:
  explicit StatusStrip(QWidget* parent = nullptr);

  /// nullptr: no document.
  void setEditor(Editor* editor);
  /// What the next click does, or what just happened.
  void setHint(const QString& hint);

Q_SIGNALS:
  void boundClicked();
  void cutClicked();
  void problemsClicked();
  void savedClicked();

protected:
  void resizeEvent(QResizeEvent* event) override;

private:
  void elide();
  QToolButton* addPart(const char* name, const QString& accessibleName);
  void update();

  QPointer<Editor> m_editor;
  QToolButton* m_bound;
  QToolButton* m_cut;
  QToolButton* m_problems;
  QToolButton* m_saved;
  QToolButton* m_counts;
  QLabel* m_hint;
  QString m_fullHint;
};

}  // namespace coppice::designer
