// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTimer>
#include <QToolButton>
#include <vector>

#include "designer/document/followed.hpp"
#include "designer/models/query.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// The line under the drawing that finds things by name, kind or expression: hits are counted, each is brought into the
/// middle with a pulse, and all can be selected at once.
class FindBar : public QFrame {
  Q_OBJECT

public:
  explicit FindBar(QWidget* parent = nullptr);

  void setContext(EditorContext* editor);
  /// Shows the bar and gives it the keyboard.
  void start();
  void setText(const QString& text) { m_input->setText(text); }
  [[nodiscard]] const std::vector<ElementId>& hits() const { return m_hits; }
  void goNext(int by);
  void selectAll();

Q_SIGNALS:
  void closed();

protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void search();
  void refresh();
  void finish();

  QPointer<EditorContext> m_editor;
  Followed m_followed;  ///< connections to the document
  QLineEdit* m_input;
  QLabel* m_state;
  QToolButton* m_previous;
  QToolButton* m_next;
  QToolButton* m_all;
  std::vector<ElementId> m_hits;
  qsizetype m_at = -1;
  QString m_fault;
  QTimer m_timer;
};

}  // namespace coppice::designer
