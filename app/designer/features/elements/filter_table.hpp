// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTableView>
#include <QTimer>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/models/query_filter_model.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// A table of elements with a field over it that takes the language of Find.
class FilterTable : public QWidget {
  Q_OBJECT

public:
  /// Takes the table. @param empty what to say where there is no row at all @param hasFilter the field is shown
  FilterTable(QTableView* table, const QString& empty, bool hasFilter, QWidget* parent = nullptr);
  /// The source belongs to the editor; both nullptr: no document.
  void setSource(EditorContext* editor, QAbstractItemModel* source);
  [[nodiscard]] QTableView* table() const { return m_table; }
  [[nodiscard]] QLineEdit* input() const { return m_input; }

private:
  void filter();
  void refresh();

  QTableView* m_table;
  QLineEdit* m_input;
  QLabel* m_state;
  QLabel* m_empty;
  QString m_emptyText;
  bool m_hasFilter;
  bool m_isFitted = false;
  QPointer<EditorContext> m_editor;
  Followed m_followed;  ///< connections to the document
  QTimer m_timer;
};

}  // namespace coppice::designer
