// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/elided_combo_box.hpp"

#include <QStyleOptionComboBox>
#include <QStylePainter>

namespace coppice::designer {

ElidedComboBox::ElidedComboBox(int minLetters, QWidget* parent) : QComboBox(parent) {
  setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  setMinimumContentsLength(minLetters);
}

void ElidedComboBox::paintEvent(QPaintEvent* /*event*/) {
  QStylePainter painter(this);
  painter.setPen(palette().color(QPalette::Text));
  QStyleOptionComboBox option;
  initStyleOption(&option);
  if (currentIndex() < 0 && !placeholderText().isEmpty()) {
    option.palette.setBrush(QPalette::ButtonText, option.palette.placeholderText());
    option.currentText = placeholderText();
  }
  painter.drawComplexControl(QStyle::CC_ComboBox, option);
  const QRect field = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
  // The style leaves a pixel on each side.
  option.currentText = option.fontMetrics.elidedText(option.currentText, Qt::ElideRight, field.width() - 2);
  painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

}  // namespace coppice::designer
