// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <functional>
#include <memory>
#include <optional>

#include "designer/document/model.hpp"

class QDragEnterEvent;
class QDragMoveEvent;
class QDropEvent;
class QMimeData;

namespace coppice::designer {

class CanvasView;
class PlaceTool;

/// What may be dropped on a canvas.
struct PartDrops {
  /// What is carried, as a part; nullopt: nothing for a canvas.
  std::function<std::optional<Model>(const QMimeData&)> partOf;
  /// It was let go with the middle of the part at the place, scene units.
  std::function<void(const QMimeData&, const QPointF& centre)> dropped;
};

/// Parts that are dragged over a canvas: a ghost shows where they would go.
class PartDropTarget {
public:
  explicit PartDropTarget(CanvasView& view);
  ~PartDropTarget();
  PartDropTarget(const PartDropTarget&) = delete;
  PartDropTarget& operator=(const PartDropTarget&) = delete;

  void setDrops(PartDrops drops) { m_drops = std::move(drops); }
  /// Returns whether it is something for the canvas.
  bool enter(QDragEnterEvent& event);
  void move(QDragMoveEvent& event);
  void leave();
  /// Returns whether something was dropped.
  bool drop(QDropEvent& event);
  /// nullptr: nothing is dragged over the canvas.
  [[nodiscard]] PlaceTool* dragged() const { return m_dragged.get(); }

private:
  QPointF show(const QDropEvent& event);

  CanvasView& m_view;
  PartDrops m_drops;
  std::unique_ptr<PlaceTool> m_dragged;
};

}  // namespace coppice::designer
