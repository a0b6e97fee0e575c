// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemView>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QProgressBar>
#include <QScrollArea>
#include <QString>
#include <QStringList>
#include <QTableView>
#include <QTableWidget>
#include <QToolButton>
#include <initializer_list>

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

/// A cell of such a table.
/// @param isFigure in the font of figures, at the right @param tip the text itself where it is empty
QTableWidgetItem& setCell(QTableWidget& table, int row, int column, const QString& text, bool isFigure,
                          const QString& tip = {});
/// The columns of such a table, each as wide as its content.
/// @param wide the column that takes the rest of the width; -1 = none
void setHeads(QTableWidget& table, const QStringList& heads, int wide);

/// What a progress bar is divided into.
inline constexpr int kProgressParts = 1000;
/// A thin progress bar at the edge of a panel, from 0 to kProgressParts. It keeps its place while it is hidden.
void setUpThinProgress(QProgressBar& bar, const QString& name);

/// A search box of a panel.
/// @param prompt shown while it is empty, and its name for screen readers
void setUpSearch(QLineEdit& search, const QString& name, const QString& prompt, int maxWidth);

/// The row of controls above the content of a panel.
/// @param last takes the rest of the row
[[nodiscard]] QHBoxLayout* controlRow(std::initializer_list<QWidget*> controls, QWidget* last, int spacing = 8);

/// A row of controls over what it controls.
[[nodiscard]] QWidget* panelPage(QLayout* controls, QWidget* content, QWidget* parent);

/// The content with a scroll bar where it is too high, and no frame.
[[nodiscard]] QScrollArea* scrolled(QWidget* content, QWidget* parent);

/// The buttons of a dialog, at its right.
[[nodiscard]] QHBoxLayout* buttonRow(std::initializer_list<QWidget*> buttons);

}  // namespace coppice::designer
