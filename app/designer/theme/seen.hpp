// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>

class QDockWidget;
class QWidget;

namespace coppice::designer {

/// Whether a part of the window can be seen. A dock behind another tab counts as shown to Qt; to the user it is not,
/// and what it shows need not be computed.
class Seen : public QObject {
public:
  /// @param changed each time that it comes or goes, a moment later  The widget must outlive this.
  Seen(QWidget& widget, std::function<void(bool isSeen)> changed);

  [[nodiscard]] bool isSeen() const;

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void followDock();
  void look();

  QWidget& m_widget;
  std::function<void(bool)> m_changed;
  const QDockWidget* m_dock = nullptr;
  QTimer m_timer;
  bool m_wasSeen = false;
};

}  // namespace coppice::designer
