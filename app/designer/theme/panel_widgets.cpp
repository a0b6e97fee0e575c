// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/panel_widgets.hpp"

#include <QHeaderView>

#include "designer/theme/icons.hpp"

namespace coppice::designer {

QToolButton* iconButton(const QString& name, const QString& iconName, const QString& tip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setObjectName(name);
  button->setIcon(icon(iconName));
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  return button;
}

void setUpRowTable(QTableView& table, const QString& name, const QString& title,
                   QAbstractItemView::SelectionMode mode) {
  table.setObjectName(name);
  table.setAccessibleName(title);
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setSelectionMode(mode);
  table.setEditTriggers(QAbstractItemView::NoEditTriggers);
  table.setShowGrid(false);
  table.setWordWrap(false);
  table.setFrameShape(QFrame::NoFrame);
  table.setTabKeyNavigation(false);
  constexpr int kRowHeight = 24;
  table.verticalHeader()->hide();
  table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table.verticalHeader()->setDefaultSectionSize(kRowHeight);
  table.horizontalHeader()->setHighlightSections(false);
}

}  // namespace coppice::designer
