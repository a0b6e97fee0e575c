// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace coppice::designer {

/// Plain text on one line, which ends in dots where there is too little room; its tool tip is for the caller to set.
class ElidedLabel : public QLabel {
public:
  explicit ElidedLabel(QWidget* parent);

protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace coppice::designer
