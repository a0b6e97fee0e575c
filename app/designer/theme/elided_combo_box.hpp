// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>

namespace coppice::designer {

/// Its text ends in dots where there is too little room; it may get as narrow as a few letters.
class ElidedComboBox : public QComboBox {
public:
  ElidedComboBox(int leastLetters, QWidget* parent);

protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace coppice::designer
