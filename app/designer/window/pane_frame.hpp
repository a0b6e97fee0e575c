// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QWidget>

namespace coppice::designer {

/// A rim around the pane that the keyboard went to. It stays while the focus is in the pane, and goes with a click.
class PaneFrame : public QWidget {
  Q_OBJECT

public:
  explicit PaneFrame(QWidget* window);

  /// @param pane a descendant of the window
  void showAround(QWidget* pane);
  /// nullptr: no pane has a rim.
  [[nodiscard]] QWidget* pane() const { return isHidden() ? nullptr : m_pane.data(); }

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

private:
  void follow();
  void drop();

  QPointer<QWidget> m_pane;
};

}  // namespace coppice::designer
