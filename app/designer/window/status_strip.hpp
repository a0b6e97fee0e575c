// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QToolButton>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// The line that is always there: collective and exact bound, the cut in words, validity, saved state, unit. Every part
/// can be clicked. A value that is being recomputed is greyed.
class StatusStrip : public QWidget {
  Q_OBJECT

public:
  explicit StatusStrip(QWidget* parent = nullptr);

  /// nullptr: no document.
  void setContext(EditorContext* editor);
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
  /// Shortens the size of the fabric, or hides it, where the parts need more than the width. The hint gets the rest.
  void fit();
  void elideHint();
  QToolButton* addPart(const char* name, const QString& accessibleName);
  void refresh();

  QPointer<EditorContext> m_editor;
  Followed m_followed;  ///< connections to the document
  QToolButton* m_bound;
  QToolButton* m_cut;
  QToolButton* m_problems;
  QToolButton* m_saved;
  QToolButton* m_counts;
  QLabel* m_hint;
  QString m_fullHint;
  QStringList m_countTexts;  ///< of the size of the fabric, the longest first
};

}  // namespace coppice::designer
