// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QTimer>
#include <QWidget>

#include "designer/document/followed.hpp"

namespace coppice::designer {

class CanvasView;

/// The whole drawing in small with a frame around what is in view; click or drag goes there, the wheel zooms. Drawn
/// again at most a few times a second, from rooms and spots alone.
class Minimap : public QWidget {
  Q_OBJECT

public:
  explicit Minimap(QWidget* parent = nullptr);
  /// nullptr: empty. The view may go away at any time.
  void setView(CanvasView* view);
  [[nodiscard]] QSize sizeHint() const override { return {200, 140}; }

protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

private:
  void fit();
  void goTo(const QPointF& place);

  CanvasView* m_view = nullptr;
  Followed m_followed;  ///< connections to the view
  QImage m_picture;
  double m_scale = 1;
  QPointF m_offset;
  QTimer m_redraw;
};

}  // namespace coppice::designer
