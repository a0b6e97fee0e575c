// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QMouseEvent>
#include <QTest>
#include <memory>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"

namespace coppice::designer::test {

/// A document, its selection and a shown canvas at 100 %, with the scene's origin in the middle.
struct Bench {
  Document document;
  Selection selection{document};
  std::unique_ptr<CanvasView> view;

  Bench() {
    Theme::instance().setAnimated(false);
    view = std::make_unique<CanvasView>(document, selection);
    view->resize(1000, 800);
    view->show();
    view->grab();
    view->setZoom(1);
    view->centreOn(QPointF(0, 0));
    view->grab();
  }
  NodeId add(double x, double y, fabric::NodeKind kind = fabric::NodeKind::gpu, BoxId box = {}) {
    NodeId id;
    document.edit("add", [&](Edit& edit) { id = edits::addNode(edit, kind, {x, y}, box); });
    return id;
  }
  [[nodiscard]] QPoint at(double x, double y) const { return view->toView({x, y}).toPoint(); }
  [[nodiscard]] QPointF place(NodeId id) const { return document.model().find(id)->drawing.position.toPointF(); }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) const {
    QTest::mousePress(view.get(), Qt::LeftButton, modifiers, from);
    for (int i = 1; i <= 5; ++i) {
      // QTest::mouseMove knows neither buttons nor modifiers.
      const QPoint now = from + (to - from) * i / 5;
      QMouseEvent move(QEvent::MouseMove, now, view->mapToGlobal(now), Qt::NoButton, Qt::LeftButton, modifiers);
      QApplication::sendEvent(view.get(), &move);
    }
    QTest::mouseRelease(view.get(), Qt::LeftButton, modifiers, to);
  }
};

inline void load(Bench& bench, const char* preset) {
  auto description = presets::make(preset, {});
  QVERIFY(description.hasValue());
  bench.document.reset(readModel(*description).model, true);
}
/// More lines than a scene routes while the user waits.
inline void loadMany(Bench& bench) {
  auto description = presets::make("dgx-a100", {{"boxes", "64"}});
  QVERIFY(description.hasValue());
  bench.document.reset(readModel(*description).model, true);
  QVERIFY(bench.view->scene().lines().size() > 1200);
}

}  // namespace coppice::designer::test
