// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QWidget>

#include "designer/canvas/canvas_view.hpp"

namespace coppice::designer {

/// A line above a drawing: a letter in the colour of its series, and what is drawn.
class DrawingCaption : public QLabel {
  Q_OBJECT

public:
  /// @param side 0 = A, 1 = B
  explicit DrawingCaption(int side, QWidget* parent = nullptr);
  void setCaption(const QString& name, const QString& numbers);

protected:
  void resizeEvent(QResizeEvent* event) override;

private:
  void refresh();

  int m_side;
  QString m_name;
  QString m_numbers;
};

/// The fabric of a canvas once more, for another schedule. Both show the same part of it at the same scale, and have
/// one selection.
class SecondDrawing : public QWidget {
  Q_OBJECT

public:
  explicit SecondDrawing(CanvasView& first, QWidget* parent = nullptr);
  ~SecondDrawing() override;

  [[nodiscard]] CanvasView& canvas() const { return *m_canvas; }
  [[nodiscard]] DrawingCaption& caption() const { return *m_caption; }

private:
  /// The one shows what the other does.
  void follow(const CanvasView& leader, CanvasView& follower);

  QPointer<CanvasView> m_first;
  DrawingCaption* m_caption;
  CanvasView* m_canvas;
  bool m_isFollowing = false;
};

}  // namespace coppice::designer
