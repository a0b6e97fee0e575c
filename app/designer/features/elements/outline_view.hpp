// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTreeView>

namespace coppice::designer {

/// The tree of boxes and nodes; empty, it says what will be in it.
class OutlineView : public QTreeView {
  Q_OBJECT

public:
  explicit OutlineView(QWidget* parent);

protected:
  void paintEvent(QPaintEvent* event) override;
  void updateGeometries() override;

private:
  void fitNames();
};

}  // namespace coppice::designer
