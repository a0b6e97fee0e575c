// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QTimer>
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
  /// What the next click does; it stays until there is another.
  void setHint(const QString& hint);
  /// What just happened in the current document; it goes after a while, and with the document.
  void say(const QString& text);

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
  void showHint(const QString& text);
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
  QString m_hintText;        ///< behind what was said
  QString m_fullHint;        ///< that is shown
  QTimer& m_expiry;          ///< of what was said; a child
  QStringList m_countTexts;  ///< of the size of the fabric, the longest first
};

}  // namespace coppice::designer
