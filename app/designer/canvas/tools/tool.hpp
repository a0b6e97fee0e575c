// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCursor>
#include <QPainter>
#include <QPointF>
#include <QString>

#include "designer/document/ids.hpp"

class QKeyEvent;

namespace coppice::designer {

class CanvasView;

/// A mouse event as tools see it.
struct CanvasPoint {
  QPointF scene;
  QPointF view;  ///< pixels of the widget
  Qt::MouseButton button = Qt::NoButton;
  Qt::KeyboardModifiers modifiers = Qt::NoModifier;
};

/// What pointer and keys do on the canvas. One object for each kind; one of them is active.
class Tool {
public:
  explicit Tool(CanvasView& view) : m_view(view) {}
  virtual ~Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  virtual void press(const CanvasPoint&) {}
  /// Whether or not a button is down.
  virtual void move(const CanvasPoint&) {}
  virtual void release(const CanvasPoint&) {}
  virtual void doubleClick(const CanvasPoint&) {}
  /// Returns whether the key was used.
  virtual bool key(QKeyEvent&) { return false; }
  /// Esc: one step back. Returns false where there was nothing to take back.
  virtual bool stepBack() { return false; }
  /// The tool is left, or the document became another one.
  virtual void leave() {}
  /// Over the drawing; the painter's transform maps scene to widget.
  virtual void paint(QPainter&) {}
  /// What the next click does.
  [[nodiscard]] virtual QString hint() const = 0;
  [[nodiscard]] virtual QCursor cursor() const { return Qt::ArrowCursor; }

protected:
  CanvasView& m_view;
};

}  // namespace coppice::designer
