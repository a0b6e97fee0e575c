// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/panel_widgets.hpp"

#include <QCoreApplication>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/theme/fonts.hpp"
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

QTableWidgetItem& setCell(QTableWidget& table, int row, int column, const QString& text, bool isFigure,
                          const QString& tip) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(tip.isEmpty() ? text : tip);
  if (isFigure) {
    item->setFont(figureFont());
    item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  table.setItem(row, column, item);
  if (QTableWidgetItem* head = table.horizontalHeaderItem(column); head != nullptr && row == 0) {
    head->setTextAlignment((isFigure ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return *item;
}

void setHeads(QTableWidget& table, const QStringList& heads, int wide) {
  table.setColumnCount(static_cast<int>(heads.size()));
  table.setHorizontalHeaderLabels(heads);
  table.horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  if (wide >= 0) {
    table.horizontalHeader()->setSectionResizeMode(wide, QHeaderView::Stretch);
  }
}

void setUpThinProgress(QProgressBar& bar, const QString& name) {
  constexpr int kHeight = 4;
  bar.setObjectName(name);
  bar.setRange(0, kProgressParts);
  bar.setTextVisible(false);
  bar.setFixedHeight(kHeight);
  bar.setAccessibleName(QCoreApplication::translate("PanelWidgets", "Progress"));
  QSizePolicy keep = bar.sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  bar.setSizePolicy(keep);
}

void setUpSearch(QLineEdit& search, const QString& name, const QString& prompt, int maxWidth) {
  search.setObjectName(name);
  search.setPlaceholderText(prompt);
  search.setAccessibleName(prompt);
  search.setClearButtonEnabled(true);
  search.setMaximumWidth(maxWidth);
  // Its prompt is readable in a narrow panel too.
  constexpr int kFrame = 34;
  search.setMinimumWidth(std::min(maxWidth, search.fontMetrics().horizontalAdvance(prompt) + kFrame));
}

QHBoxLayout* controlRow(std::initializer_list<QWidget*> controls, QWidget* last, int spacing) {
  constexpr QMargins kMargins(8, 4, 8, 4);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(kMargins);
  row->setSpacing(spacing);
  for (QWidget* control : controls) {
    row->addWidget(control);
  }
  row->addWidget(last, 1);
  return row;
}

QWidget* panelPage(QLayout* controls, QWidget* content, QWidget* parent) {
  auto* page = new QWidget(parent);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(controls);
  layout->addWidget(content, 1);
  return page;
}

QScrollArea* scrolled(QWidget* content, QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setWidget(content);
  return area;
}

QHBoxLayout* buttonRow(std::initializer_list<QWidget*> buttons) {
  auto* row = new QHBoxLayout;
  row->addStretch();
  for (QWidget* button : buttons) {
    row->addWidget(button);
  }
  return row;
}

}  // namespace coppice::designer
