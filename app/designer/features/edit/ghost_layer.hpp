// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineF>
#include <QRectF>
#include <QWidget>
#include <functional>
#include <vector>

#include "designer/canvas/canvas_view.hpp"

namespace coppice::designer {

/// What an edit would add, in scene units.
struct Ghost {
  std::vector<QRectF> nodes;
  std::vector<QRectF> boxes;
  std::vector<QLineF> links;
};

/// The outcome of an edit that is thrown away.
struct Trial {
  Ghost ghost;
  int nodes = 0;
  int boxes = 0;
  int links = 0;
  std::vector<std::string> boxNames;   ///< of the new outermost boxes
  std::vector<std::string> nodeNames;  ///< of the new nodes
};
/// Runs the edit on a copy. Meant for models of up to some ten thousand elements.
[[nodiscard]] Trial tryEdit(const Model& model, const std::function<void(Edit&)>& fill);

/// Draws over a canvas what a dialog is about to do; lets every click through.
class GhostLayer : public QWidget {
  Q_OBJECT

public:
  /// The canvas owns it.
  explicit GhostLayer(CanvasView& canvas);
  void setGhost(Ghost ghost);

protected:
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  CanvasView& m_canvas;
  Ghost m_ghost;
};

}  // namespace coppice::designer
