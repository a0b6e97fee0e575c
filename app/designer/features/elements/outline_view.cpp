// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/outline_view.hpp"

#include <QPainter>

namespace coppice::designer {

OutlineView::OutlineView(QWidget* parent) : QTreeView(parent) {
  setObjectName(QStringLiteral("outlineTree"));
  setAccessibleName(tr("Outline"));
  setHeaderHidden(true);
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);  // one frame round the row
  setFrameShape(QFrame::NoFrame);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  // The names take what the details leave.
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
}

void OutlineView::paintEvent(QPaintEvent* event) {
  QTreeView::paintEvent(event);
  if (model() != nullptr && model()->rowCount() == 0) {
    QPainter painter(viewport());
    painter.setPen(palette().color(QPalette::PlaceholderText));
    constexpr int kMargin = 12;
    painter.drawText(viewport()->rect().adjusted(kMargin, kMargin, -kMargin, -kMargin),
                     Qt::AlignCenter | Qt::TextWordWrap, tr("Boxes and nodes are listed here."));
  }
}

}  // namespace coppice::designer
