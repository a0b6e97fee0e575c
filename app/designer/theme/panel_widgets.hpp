// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemView>
#include <QString>
#include <QTableView>
#include <QToolButton>

namespace coppice::designer {

/// A button with an icon alone. Its tip is its name for screen readers too.
/// @param name the object name @param iconName see icon()
[[nodiscard]] QToolButton* iconButton(const QString& name, const QString& iconName, const QString& tip,
                                      QWidget* parent);

/// A table of whole rows that are chosen and not edited, as panels show it: no grid, no frame, no row numbers, rows of
/// one height. Columns are for the caller to set.
/// @param title for screen readers
void setUpRowTable(QTableView& table, const QString& name, const QString& title,
                   QAbstractItemView::SelectionMode mode = QAbstractItemView::SingleSelection);

}  // namespace coppice::designer
