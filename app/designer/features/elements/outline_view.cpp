// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/outline_view.hpp"

#include <QHeaderView>
#include <QPainter>
#include <algorithm>

namespace coppice::designer {

OutlineView::OutlineView(QWidget* parent) : QTreeView(parent) {
  setObjectName(QStringLiteral("outlineTree"));
  setAccessibleName(tr("Outline"));
  setHeaderHidden(true);
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);  // one frame round the row
  setFrameShape(QFrame::NoFrame);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  // The names take what the details leave. A hidden header does not follow the width by itself.
  header()->setStretchLastSection(false);
  connect(header(), &QHeaderView::sectionResized, this, &OutlineView::fitNames);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
}

void OutlineView::updateGeometries() {
  QTreeView::updateGeometries();
  fitNames();
}

void OutlineView::fitNames() {
  constexpr int kMin = 40;
  if (header()->count() > 1) {
    header()->resizeSection(0, std::max(kMin, viewport()->width() - (header()->length() - header()->sectionSize(0))));
  }
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
