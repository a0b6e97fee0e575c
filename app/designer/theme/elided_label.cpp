// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/elided_label.hpp"

#include <QStylePainter>

namespace coppice::designer {

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

void ElidedLabel::paintEvent(QPaintEvent* /*event*/) {
  QStylePainter painter(this);
  const QRect place = contentsRect();
  painter.drawItemText(place, static_cast<int>(alignment()), palette(), isEnabled(),
                       fontMetrics().elidedText(text(), Qt::ElideRight, place.width()), foregroundRole());
}

}  // namespace coppice::designer
