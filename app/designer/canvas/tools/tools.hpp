// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineF>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "designer/canvas/part_ghost.hpp"
#include "designer/canvas/tools/tool.hpp"
#include "designer/document/document.hpp"
#include "designer/document/edits.hpp"

namespace coppice::designer {

/// Selects, moves, opens.
class SelectTool : public Tool {
public:
  using Tool::Tool;
  void press(const CanvasPoint& point) override;
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  void doubleClick(const CanvasPoint& point) override;
  bool key(QKeyEvent& event) override;
  bool stepBack() override;
  void leave() override;
  void paint(QPainter& painter) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override;

private:
  enum class State { idle, pressed, dragging, band, stretching };
  /// An end of a selected switch.
  struct Handle {
    NodeId node;
    bool isRight = false;
  };
  [[nodiscard]] std::optional<Handle> handleAt(const CanvasPoint& point) const;
  void stretch(const CanvasPoint& point);
  void drag(const CanvasPoint& point);
  void toggle(const std::set<ElementId>& elements);
  void nudge(QPointF by);
  [[nodiscard]] std::set<ElementId> movable() const;

  State m_state = State::idle;
  QPointF m_pressScene;
  QPointF m_pressView;
  QPointF m_now;
  ElementId m_pressed;
  bool m_isSoleOnRelease = false;
  QRectF m_startRect;
  std::set<ElementId> m_moving;
  Point m_moved;
  GestureId m_gesture = 0;
  bool m_hasPushed = false;
  std::vector<QLineF> m_guides;
  std::set<ElementId> m_before;  // of a rubber band
  std::optional<Handle> m_handle;
  GestureId m_nudgeGesture = 0;
  std::set<ElementId> m_nudged;
  std::uint64_t m_nudgeRevision = 0;
};

/// Drags the view.
class PanTool : public Tool {
public:
  using Tool::Tool;
  void press(const CanvasPoint& point) override;
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  bool key(QKeyEvent& event) override;
  void leave() override { m_from.reset(); }
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::OpenHandCursor; }

private:
  std::optional<QPointF> m_from;
};

/// Links: drag from node to node; from a selected set to a node; from a set to a box or a band of nodes by a pattern.
/// By keys: arrows or Tab to the target, Enter.
class LinkTool : public Tool {
public:
  using Tool::Tool;
  void press(const CanvasPoint& point) override;
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  bool key(QKeyEvent& event) override;
  bool stepBack() override;
  void leave() override;
  void paint(QPainter& painter) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::CrossCursor; }

private:
  [[nodiscard]] std::vector<NodeId> sources() const;
  void linkTo(const ElementId& target, const QPointF& where);
  void linkSets(const std::vector<NodeId>& from, const std::vector<NodeId>& to, const QPointF& where);
  void make(const std::vector<NodeId>& from, const std::vector<NodeId>& to, edits::LinkPattern pattern,
            const QPointF& where);

  std::vector<NodeId> m_from;
  bool m_isDragging = false;
  bool m_isBand = false;
  QPointF m_pressScene;
  QPointF m_pressView;
  QPointF m_now;
};

/// Points from a node or a link to another element, by a drag or by keys, and tells the view's signals
/// CanvasView::pointing and CanvasView::pointed; the drawing stays as it is.
class PointTool : public Tool {
public:
  using Tool::Tool;
  void press(const CanvasPoint& point) override;
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  bool key(QKeyEvent& event) override;
  bool stepBack() override;
  void leave() override;
  void paint(QPainter& painter) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::CrossCursor; }

private:
  /// A node or a link; invalid elsewhere.
  [[nodiscard]] ElementId targetAt(const QPointF& scene) const;
  /// Tells the view where it would lead now.
  void tell(const ElementId& over);

  ElementId m_from;  ///< of a drag, or chosen by Enter
  ElementId m_over;  ///< that was told last
  bool m_isDragging = false;
  QPointF m_start;  ///< of a drag
  QPointF m_now;
};

/// Arrows and Tab lead the keyboard cursor from node to node. Returns whether the key was one of them.
bool walkNodes(CanvasView& view, const QKeyEvent& event);

/// A box around what is in the rectangle, or an empty one.
class BoxTool : public Tool {
public:
  using Tool::Tool;
  void press(const CanvasPoint& point) override;
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  bool stepBack() override;
  void leave() override { m_from.reset(); }
  void paint(QPainter& painter) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::CrossCursor; }

private:
  std::optional<QPointF> m_from;
  QPointF m_to;
};

/// Text notes.
class NoteTool : public Tool {
public:
  using Tool::Tool;
  void release(const CanvasPoint& point) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::IBeamCursor; }
};

/// Puts devices and templates down; a ghost shows where, and what box they would join.
class PlaceTool : public Tool {
public:
  using Tool::Tool;
  void setDevice(fabric::NodeKind kind);
  void setPart(Model part, const QString& name);
  /// As while the pointer moves there, or something dragged. Returns where the middle would be.
  QPointF show(const CanvasPoint& point);
  void move(const CanvasPoint& point) override;
  void release(const CanvasPoint& point) override;
  bool key(QKeyEvent& event) override;
  void leave() override;
  void paint(QPainter& painter) override;
  [[nodiscard]] QString hint() const override;
  [[nodiscard]] QCursor cursor() const override { return Qt::CrossCursor; }

private:
  void putDown(const QPointF& centre);

  fabric::NodeKind m_device = fabric::NodeKind::gpu;
  bool m_isDevice = true;
  std::unique_ptr<PartGhost> m_ghost;
  QString m_name;
  std::optional<QPointF> m_at;
  std::vector<QLineF> m_guides;
};

}  // namespace coppice::designer
