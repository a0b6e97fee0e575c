// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QToolButton>
#include <QWidget>

class QDockWidget;

namespace coppice::designer {

/// Title of a dock: its name as a section head and a cross. Takes no room where a tab says the name already.
class DockTitle : public QWidget {
  Q_OBJECT

public:
  explicit DockTitle(QDockWidget* dock);

  /// Looks again whether the dock is in a row of tabs.
  void refresh();
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

private:
  QDockWidget* m_dock;
  QLabel* m_name;
  QToolButton* m_close;
  bool m_isShown = true;
};

}  // namespace coppice::designer
