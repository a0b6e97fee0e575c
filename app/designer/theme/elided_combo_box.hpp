// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>

namespace coppice::designer {

/// A combo box that may get as narrow as `minLetters` letters; its text then ends in dots.
class ElidedComboBox : public QComboBox {
public:
  ElidedComboBox(int minLetters, QWidget* parent);

protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace coppice::designer
