// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/swatch.hpp"

#include <QPainter>
#include <QPixmap>

#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {

QIcon swatch(int index) {
  constexpr int kSide = 12;
  QPixmap pixmap(kSide, kSide);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(category(index, Theme::instance().scheme()));
  painter.drawEllipse(1, 1, kSide - 2, kSide - 2);
  return QIcon(pixmap);
}

}  // namespace coppice::designer
